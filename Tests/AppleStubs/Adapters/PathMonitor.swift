// This source file is part of the Optimist open source project, under the MIT licence.

// Shows that the Network stub carries an adapter for the path monitor. Replaced by the real one when there is one.
import Dispatch
import Network

struct PathMonitor: Sendable {
    private let monitor = NWPathMonitor()

    /// Whether there is a path, now and after each change, until the one who listens is cancelled.
    func updates() -> AsyncStream<Bool> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
            continuation.onTermination = { [monitor] _ in monitor.cancel() }
            monitor.start(queue: DispatchQueue(label: "optimist.path"))
        }
    }
}
