// This source file is part of the Optimist open source project, under the MIT licence.

/// The fetch on whose behalf a task and its child tasks run.
final class AskingFetch: Sendable {
    @TaskLocal static var current: AskingFetch?

    private let loader: ObjectIdentifier
    private let id: FlightID

    init(of loader: AnyObject, _ id: FlightID) {
        self.loader = ObjectIdentifier(loader)
        self.id = id
    }

    /// The current fetch, if it belongs to this loader.
    static func flight(of loader: AnyObject) -> FlightID? {
        current.flatMap { $0.loader == ObjectIdentifier(loader) ? $0.id : nil }
    }
}
