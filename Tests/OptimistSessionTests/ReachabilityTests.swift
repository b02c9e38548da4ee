// This source file is part of the Optimist open source project, under the MIT licence.

#if os(Linux)
    import ChildProcess
    import Foundation
    import Testing

    @testable import OptimistSession

    @Suite(.timeLimit(.minutes(20)))
    struct ReachabilityTests {
        private static let ip = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }

        @Test func `the current state arrives immediately and without privileges`() async {
            var updates = SystemReachability().updates.makeAsyncIterator()
            let first = await updates.next()
            #expect(first?.isOnline == SystemReachability.hasNetwork)
        }

        /// Another loopback address is harmless, and still counts as a change.
        @Test(.enabled(if: getuid() == 0 && ip != nil, "needs root and the program ip, from iproute2"))
        func `a change of addresses is reported`() async throws {
            var updates = SystemReachability().updates.makeAsyncIterator()
            _ = await updates.next()
            let address = "127.77.\(Int.random(in: 1...250)).\(Int.random(in: 1...250))/32"
            try Self.run("addr", "add", address, "dev", "lo")
            let afterwards = await updates.next()
            try Self.run("addr", "del", address, "dev", "lo")
            #expect(afterwards?.isOnline == SystemReachability.hasNetwork)
        }

        private static func run(_ arguments: String...) throws {
            let program = try ChildProcess(URL(filePath: try #require(Self.ip)), arguments)
            #expect(program.exitStatus() == 0)
        }
    }
#endif
