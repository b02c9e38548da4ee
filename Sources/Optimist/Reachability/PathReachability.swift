// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Network)
    import Dispatch
    import Network

    /// Watches the system's network path.
    ///
    /// > Source: Apple, "NWPathMonitor".
    public struct SystemReachability: Reachability {
        public init() {}

        public var updates: AsyncStream<Bool> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { path in continuation.yield(path.status == .satisfied) }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: DispatchQueue(label: "optimist.path"))
            }
        }
    }
#endif
