// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import NIOCore
    import NIOHPACK
    import NIOHTTP2

    /// Stands between a connection of HTTP/2 and AsyncHTTPClient.
    ///
    /// - It says of the streams that a GOAWAY ends that the server has not begun with them. NIOHTTP2 takes them for cancelled.
    /// - It keeps to itself that the number of streams changes, at which the library stops a debug build if there is no stream.
    ///   NIOHTTP2 still keeps to that number.
    ///
    /// > Source: RFC 9113, section 6.8.
    final class ConnectionWatch: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias InboundOut = HTTP2Frame

        /// The last stream that the server may have begun with, once it goes away.
        private var lastBegun: HTTP2StreamID?

        /// Adds it to a new connection. Its first settings have come already.
        static func add(to channel: any Channel) -> EventLoopFuture<Void> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let handler = try pipeline.handler(type: NIOHTTP2Handler.self)
                try pipeline.addHandler(ConnectionWatch(), position: .after(handler))
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var frame = unwrapInboundIn(data)
            switch frame.payload {
            case .goAway(let lastStreamID, _, _):
                lastBegun = min(lastStreamID, lastBegun ?? lastStreamID)
            case .settings(.settings(let settings)):
                frame.payload = .settings(.settings(settings.filter { $0.parameter != .maxConcurrentStreams }))
            default: break
            }
            context.fireChannelRead(wrapInboundOut(frame))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let closed = event as? StreamClosedEvent, closed.reason == .cancel, let lastBegun,
                closed.streamID > lastBegun
            else { return context.fireUserInboundEventTriggered(event) }
            context.fireUserInboundEventTriggered(StreamClosedEvent(streamID: closed.streamID, reason: .refusedStream))
        }
    }

    /// Stands between one stream of HTTP/2 and what makes parts of HTTP/1.1 of its frames, which stops the process at a
    /// status below zero.
    final class StreamWatch: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload

        private var hasRefused = false

        /// Adds it to a new stream, and ``WireWatch`` above it.
        static func add(to channel: any Channel, _ departures: Departures) -> EventLoopFuture<Void> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
                try pipeline.addHandler(StreamWatch(), position: .before(codec))
                try pipeline.addHandler(WireWatch(departures), position: .after(codec))
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .headers(let block) = unwrapInboundIn(data), !Self.isKnown(block) { hasRefused = true }
            guard !hasRefused else { return context.fireErrorCaught(StrangeStatus()) }
            context.fireChannelRead(data)
        }

        /// Whether HTTP/2 knows the status. Trailers have none. A status that says that more follows cannot end the stream.
        ///
        /// > Source: RFC 9113, section 8.1 and section 8.6 (no 101).
        private static func isKnown(_ block: HTTP2Frame.FramePayload.Headers) -> Bool {
            guard let text = block.headers.first(name: ":status") else { return true }
            guard text.utf8.count == 3, let status = UInt(text), 100...999 ~= status, status != 101 else {
                return false
            }
            return status >= 200 || !block.endStream
        }
    }
#endif
