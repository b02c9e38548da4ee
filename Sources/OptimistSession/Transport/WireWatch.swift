// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import NIOCore
    import NIOHTTP1

    /// A handler between AsyncHTTPClient and its connections. It records which requests were written, and rejects
    /// answers that would crash the library.
    ///
    /// The library treats a status below 200 as informational, and crashes if the answer ends there. It treats 101 as
    /// final, and crashes on the answer that follows.
    final class WireWatch: ChannelDuplexHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart
        typealias OutboundIn = HTTPClientRequestPart
        typealias OutboundOut = HTTPClientRequestPart

        private let departures: Departures
        private var hasRefused = false

        init(_ departures: Departures) { self.departures = departures }

        static func add(to channel: any Channel, _ departures: Departures) -> EventLoopFuture<Void> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(WireWatch(departures), position: .after(decoder))
            }
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard case .head(var head) = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
            if let departure = head.headers.first(name: Departures.field).flatMap({ Int($0) }) {
                departures.leaves(departure)
                head.headers.remove(name: Departures.field)
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data), !Self.isKnown(head.status.code) { hasRefused = true }
            guard !hasRefused else { return context.fireErrorCaught(StrangeStatus()) }
            context.fireChannelRead(data)
        }

        private static func isKnown(_ status: UInt) -> Bool { 100...999 ~= status && status != 101 }
    }

    /// An answer with an invalid status.
    struct StrangeStatus: Error {}
#endif
