// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Network)
    import Dispatch
    import Network

    /// Watches the system's network path.
    ///
    /// > Source: Apple, "NWPathMonitor".
    public struct SystemReachability: Reachability {
        public init() {}

        public var updates: AsyncStream<NetworkPath> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { path in
                    continuation.yield(
                        NetworkPath(
                            isOnline: path.status == .satisfied, isExpensive: path.isExpensive,
                            isConstrained: path.isConstrained))
                }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: DispatchQueue(label: "optimist.path"))
            }
        }
    }
#endif
