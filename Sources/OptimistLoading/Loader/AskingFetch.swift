// This source file is part of the Optimist open source project, under the MIT licence.

/// The fetch on whose behalf a task runs, known to the tasks that it makes as well.
final class AskingFetch: Sendable {
    @TaskLocal static var current: AskingFetch?

    private let loader: ObjectIdentifier
    private let id: FlightID

    init(of loader: AnyObject, _ id: FlightID) {
        self.loader = ObjectIdentifier(loader)
        self.id = id
    }

    /// The flight of the fetch, if it is one of this loader's.
    static func flight(of loader: AnyObject) -> FlightID? {
        current.flatMap { $0.loader == ObjectIdentifier(loader) ? $0.id : nil }
    }
}
