// This source file is part of the Optimist open source project, under the MIT licence.

#if os(Linux) && !canImport(Network)
    // Dispatch sources are thread-safe, but the Linux module does not declare them `Sendable`.
    @preconcurrency import Dispatch
    import Glibc

    /// Watches links, addresses and routes on a netlink socket. It needs no privileges and cannot determine a network's
    /// cost.
    ///
    /// > Source: Linux, netlink(7), rtnetlink(7), getifaddrs(3).
    public struct SystemReachability: Reachability {
        /// Makes a watcher. It opens a socket only while ``updates`` is being iterated.
        public init() {}

        public var updates: AsyncStream<NetworkPath> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                continuation.yield(NetworkPath(isOnline: Self.hasNetwork))
                guard let descriptor = Self.openSocket() else { return }
                let source = DispatchSource.makeReadSource(
                    fileDescriptor: descriptor, queue: DispatchQueue(label: "optimist.netlink"))
                source.setEventHandler {
                    if Self.drain(descriptor) { continuation.yield(NetworkPath(isOnline: Self.hasNetwork)) }
                }
                source.setCancelHandler { close(descriptor) }
                continuation.onTermination = { _ in source.cancel() }
                source.resume()
            }
        }

        /// Whether an interface other than loopback is up, running and has an address.
        static var hasNetwork: Bool {
            var list: UnsafeMutablePointer<ifaddrs>?
            guard getifaddrs(&list) == 0 else { return true }
            defer { freeifaddrs(list) }
            var next = list
            while let interface = next?.pointee {
                next = interface.ifa_next
                let flags = Int32(bitPattern: interface.ifa_flags)
                let wanted = Int32(IFF_UP) | Int32(IFF_RUNNING)
                guard flags & wanted == wanted, flags & Int32(IFF_LOOPBACK) == 0,
                    let family = interface.ifa_addr?.pointee.sa_family
                else { continue }
                if Int32(family) == AF_INET || Int32(family) == AF_INET6 { return true }
            }
            return false
        }

        /// The address of a netlink socket, missing from Glibc's module map.
        private struct NetlinkAddress {
            var family = UInt16(AF_NETLINK)
            var padding: UInt16 = 0
            var process: UInt32 = 0
            var groups: UInt32 = 0
        }

        /// Changes to links, addresses and routes, for IPv4 and IPv6 (linux/rtnetlink.h).
        private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

        static func openSocket() -> Int32? {
            let flags = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = socket(AF_NETLINK, flags, 0)
            guard descriptor >= 0 else { return nil }
            var address = NetlinkAddress(groups: groups)
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<NetlinkAddress>.size))
                }
            }
            guard bound == 0 else {
                close(descriptor)
                return nil
            }
            return descriptor
        }

        /// Discards the pending messages. Their content is not needed, because the state is queried again.
        private static func drain(_ descriptor: Int32) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            var received = false
            while recv(descriptor, &buffer, buffer.count, 0) > 0 { received = true }
            return received || errno == ENOBUFS
        }
    }
#endif
