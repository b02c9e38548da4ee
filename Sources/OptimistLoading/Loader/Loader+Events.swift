// This source file is part of the Optimist open source project, under the MIT licence.

extension Loader {
    /// The events of a key, for as long as a task iterates: the ticket goes with the task.
    ///
    /// A slow iteration gets the newest eight events only. The stream has no end of its own, because an expired value
    /// may be followed by another.
    ///
    /// - Parameters: As ``subscribe(_:priority:freshness:receive:)``.
    public func events(
        for key: Key, priority: LoadPriority = .visible, freshness: Freshness = .cached
    ) -> AsyncStream<LoadEvent<Value>> {
        AsyncStream(bufferingPolicy: .bufferingNewest(8)) { continuation in
            let manner = AskingManner(asker: AskingFetch.flight(of: self))
            let ticket = subscribe(key, priority, freshness, manner) { continuation.yield($0) }
            continuation.onTermination = { _ in ticket.cancel() }
        }
    }
}
