// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import NIOCore
    import NIOPosix
    import NIOSSL
    import Synchronization

    /// A server that answers with arbitrary bytes, over HTTP/1.1 or as HTTP/2 frames.
    final class HostileServer: Sendable {
        enum Act: Sendable {
            case bytes([UInt8])
            case close
        }

        enum Version: Sendable { case http1, http2 }

        /// Receives the number of a request, from 0, and its stream, which is 0 for HTTP/1.1.
        typealias Script = @Sendable (_ request: Int, _ stream: UInt32) -> [Act]

        private let channel: any Channel
        private let requests: Requests

        var port: Int { channel.localAddress?.port ?? 0 }
        /// The number of requests received.
        var seen: Int { requests.count.withLock { $0 } }

        fileprivate final class Requests: Sendable {
            let count = Mutex(0)

            func next() -> Int {
                count.withLock { count in
                    defer { count += 1 }
                    return count
                }
            }
        }

        init(_ version: Version, _ script: @escaping Script) async throws {
            let requests = Requests()
            self.requests = requests
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try TestCertificate.chain, privateKey: try TestCertificate.privateKey)
            tls.applicationProtocols = ["h2"]
            let context = try NIOSSLContext(configuration: tls)
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 64)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if version == .http2 { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                        try pipeline.addHandler(Answering(version, requests, script))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
        }

        func close() async throws { try await channel.close() }
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let version: HostileServer.Version
        private let requests: HostileServer.Requests
        private let script: HostileServer.Script
        private var received: [UInt8] = []
        private var hasPreface = false

        init(
            _ version: HostileServer.Version, _ requests: HostileServer.Requests,
            _ script: @escaping HostileServer.Script
        ) {
            self.version = version
            self.requests = requests
            self.script = script
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += Array(unwrapInboundIn(data).readableBytesView)
            switch version {
            case .http1: readHead(context)
            case .http2: readFrames(context)
            }
        }

        // Connections that end abruptly are expected here.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func readHead(_ context: ChannelHandlerContext) {
            guard received.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
            received = []
            answer(context, stream: 0)
        }

        private func readFrames(_ context: ChannelHandlerContext) {
            let prefaceBytes = 24
            if !hasPreface {
                guard received.count >= prefaceBytes else { return }
                received.removeFirst(prefaceBytes)
                hasPreface = true
                write(Frame.settings([:]) + Frame.settingsAcknowledgement, context)
            }
            while received.count >= 9 {
                let length = Int(received[0]) << 16 | Int(received[1]) << 8 | Int(received[2])
                guard received.count >= 9 + length else { return }
                let (kind, flags) = (received[3], received[4])
                let stream = received[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                received.removeFirst(9 + length)
                // The end of a request, in its head or after its body.
                if kind <= Frame.Kind.headers.rawValue, flags & Frame.endStream != 0 { answer(context, stream: stream) }
            }
        }

        private func answer(_ context: ChannelHandlerContext, stream: UInt32) {
            for act in script(requests.next(), stream) {
                switch act {
                case .bytes(let bytes): write(bytes, context)
                case .close: context.close(promise: nil)
                }
            }
        }

        private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        }
    }
#endif
