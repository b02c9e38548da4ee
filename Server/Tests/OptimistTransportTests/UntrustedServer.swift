// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import NIOCore
    import NIOPosix
    import NIOSSL
    import Synchronization

    /// A local server with a self-signed certificate, which counts connections and never answers.
    final class UntrustedServer: Sendable {
        private final class Count: Sendable {
            let value = Mutex(0)
        }

        private let count: Count
        private let channel: any Channel

        var port: Int { channel.localAddress?.port ?? 0 }
        var connections: Int { count.value.withLock { $0 } }

        init() async throws {
            let context = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try TestCertificate.chain, privateKey: try TestCertificate.privateKey))
            let count = Count()
            self.count = count
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    count.value.withLock { $0 += 1 }
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
        }

        func close() async throws { try await channel.close() }
    }
#endif
