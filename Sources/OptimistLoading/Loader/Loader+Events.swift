// This source file is part of the Optimist open source project, under the MIT licence.

extension Loader {
    /// Returns the events of a key as a stream, which holds the subscription while it is iterated.
    ///
    /// If the iteration is slow, the stream keeps only the newest eight events. The stream does not end by itself,
    /// because another value may follow an expired one.
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
