// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOHTTP1

/// Closes a connection whose client lets the server wait: one that does not read its answers, and at the server's end also
/// one that does not send its body.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    /// Whether its address may have another connection.
    private let mayStay: Bool
    /// How long a client has to take some of what waits for it, before the server's next bytes find room.
    private let readerPatience: TimeAmount
    /// How long after the server has been asked to end a client may still let it wait.
    private let endPatience: TimeAmount
    private var isBodyUnderWay = false
    private var stall: Scheduled<Void>?
    private var end: Scheduled<Void>?

    init(mayStay: Bool = true, readerPatience: TimeAmount, endPatience: TimeAmount) {
        self.mayStay = mayStay
        self.readerPatience = readerPatience
        self.endPatience = endPatience
    }

    func channelActive(context: ChannelHandlerContext) {
        if mayStay { limitUnsentBytes(context.channel) } else { context.close(promise: nil) }
        context.fireChannelActive()
    }

    /// Without this the system keeps megabytes that nobody has asked for yet, and says too late that some have gone: a
    /// slow reader could not be told from one that does not read. A system that refuses keeps its own limit.
    private func limitUnsentBytes(_ channel: any Channel) {
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: Self.unsentLowWater))
        channel.setOption(option, value: 65_536).whenFailure { _ in }
    }

    /// `TCP_NOTSENT_LOWAT`, which not every C library has by name.
    #if canImport(Darwin)
        private static let unsentLowWater: CInt = 0x201
    #else
        private static let unsentLowWater: CInt = 25
    #endif

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isBodyUnderWay = true
        case .body: break
        case .end: isBodyUnderWay = false
        }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stall?.cancel()
        stall = nil
        if !context.channel.isWritable {
            stall = context.eventLoop.scheduleTask(in: readerPatience) { [channel = context.channel] in
                channel.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, end == nil { closeIfWaiting(context, in: endPatience) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Looks once the time is up, and every second from then on: an answer may begin later.
    private func closeIfWaiting(_ context: ChannelHandlerContext, in time: TimeAmount) {
        end = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard !isBodyUnderWay, context.channel.isWritable else { return context.close(promise: nil) }
            closeIfWaiting(context, in: .seconds(1))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        stall?.cancel()
        end?.cancel()
    }
}
