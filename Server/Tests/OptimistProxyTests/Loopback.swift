// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOPosix
import OptimistProxy
import Synchronization
import Testing

typealias Bytes = NIOAsyncChannel<ByteBuffer, ByteBuffer>

/// A server on loopback that records what it receives, and can echo it.
final class Upstream: Sendable {
    let port: Int
    private let listener: any Channel
    private let log: Log

    private final class Log: Sendable {
        let received = Mutex(ByteBuffer())
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter echoes: Whether everything is sent back, or only recorded.
    init(echoes: Bool = true) async throws {
        let log = Log()
        self.log = log
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Echo(isOn: echoes) { bytes in
                            log.received.withLock { _ = $0.writeImmutableBuffer(bytes) }
                            log.change.yield()
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    var received: [UInt8] { log.received.withLock { Array($0.readableBytesView) } }

    func waitForBytes(_ count: Int) async {
        for await _ in log.changes where received.count >= count { return }
        Issue.record("\(received.count) bytes of \(count) arrived")
    }

    func close() async { try? await listener.close() }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let isOn: Bool
        private let received: (ByteBuffer) -> Void

        init(isOn: Bool, received: @escaping (ByteBuffer) -> Void) {
            self.isOn = isOn
            self.received = received
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            received(bytes)
            if isOn { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case ChannelEvent.inputClosed = event else { return }
            let channel = context.channel
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(mode: .output, promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// Connects to a port of this machine, which may be slow.
func connect(to port: Int) async throws -> Bytes {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.minutes(5))
        .channelOption(.allowRemoteHalfClosure, value: true)
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try Bytes(
                    wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
            }
        }
}

/// Sends a message, closes the output, and returns everything received before the connection ends.
///
/// - Throws: When the connection is reset during reading.
func exchange(_ message: [UInt8], port: Int) async throws -> [UInt8] {
    try await connect(to: port).executeThenClose { inbound, outbound in
        async let sent: Void = {
            try await outbound.write(ByteBuffer(bytes: message))
            outbound.finish()
        }()
        var answer: [UInt8] = []
        for try await bytes in inbound { answer += Array(bytes.readableBytesView) }
        try await sent
        return answer
    }
}

/// Runs a test with a proxy and a server, and closes both.
func withProxy(
    _ conditions: NetworkConditions = .online, seed: UInt64 = 1, echoes: Bool = true,
    _ body: (FaultProxy, Upstream) async throws -> Void
) async throws {
    let upstream = try await Upstream(echoes: echoes)
    let proxy = try await FaultProxy.start(
        upstream: ("127.0.0.1", upstream.port), conditions: conditions, seed: seed)
    do { try await body(proxy, upstream) } catch {
        await proxy.shutdown()
        await upstream.close()
        throw error
    }
    await proxy.shutdown()
    await upstream.close()
}
