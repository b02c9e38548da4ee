// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOHTTP1

/// Closes a connection whose client reads its answers too slowly or, while the server shuts down, does not send its
/// body.
///
/// It counts the bytes that the connection has accepted, because the channel's writability changes only after tens of
/// kilobytes.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let mayStay: Bool
    private var pace: ReadingPace
    private var look: Scheduled<Void>?
    private let endPatience: TimeAmount
    private var isBodyUnderWay = false
    private var end: Scheduled<Void>?

    init(mayStay: Bool = true, readerPatience: TimeAmount, endPatience: TimeAmount) {
        self.mayStay = mayStay
        pace = ReadingPace(patience: readerPatience)
        self.endPatience = endPatience
    }

    func channelActive(context: ChannelHandlerContext) {
        if mayStay { limitUnsentBytes(context.channel) } else { context.close(promise: nil) }
        context.fireChannelActive()
    }

    /// Without this limit the system buffers megabytes that the client has not asked for, so the server notices late
    /// that the client is slow. If the system refuses the option, it keeps its own limit.
    private func limitUnsentBytes(_ channel: any Channel) {
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: Self.unsentLowWater))
        channel.setOption(option, value: 65_536).whenFailure { _ in }
    }

    /// `TCP_NOTSENT_LOWAT`, which some C libraries do not define.
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

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let (bytes, endsAnswer) =
            switch unwrapOutboundIn(data) {
            case .head: (0, false)
            case .body(let body): (body.readableBytes, false)
            case .end: (0, true)
            }
        let loop = context.eventLoop
        let promise = promise ?? loop.makePromise()
        pace.wrote(at: loop.now)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            pace.took(bytes, endsAnswer: endsAnswer, at: loop.now)
        }
        lookLater(context)
        context.write(data, promise: promise)
    }

    private func lookLater(_ context: ChannelHandlerContext) {
        guard look == nil, let end = pace.end else { return }
        look = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self] in
            look = nil
            guard let end = pace.end, end <= context.eventLoop.now else { return lookLater(context) }
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, end == nil { closeIfWaiting(context, in: endPatience) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Checks again every second, because an answer may begin later.
    private func closeIfWaiting(_ context: ChannelHandlerContext, in time: TimeAmount) {
        end = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard !isBodyUnderWay, !pace.isWaiting else { return context.close(promise: nil) }
            closeIfWaiting(context, in: .seconds(1))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        look?.cancel()
        end?.cancel()
    }
}
