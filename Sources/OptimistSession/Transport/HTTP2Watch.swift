// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import NIOCore
    import NIOHPACK
    import NIOHTTP2

    /// A handler between an HTTP/2 connection and AsyncHTTPClient.
    ///
    /// - It reports streams ended by a GOAWAY as refused if the server has not processed them. NIOHTTP2 reports them as
    ///   cancelled.
    /// - It hides changes to the maximum number of streams, which crash a debug build of the library if there is no
    ///   stream. NIOHTTP2 still respects the number.
    ///
    /// > Source: RFC 9113, section 6.8.
    final class ConnectionWatch: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias InboundOut = HTTP2Frame

        /// After a GOAWAY: the last stream that the server may have processed.
        private var lastBegun: HTTP2StreamID?

        /// Adds the handler to a new connection, after its first settings have arrived.
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

    /// A handler before the conversion of an HTTP/2 stream to HTTP/1.1 parts. The conversion crashes the process on a
    /// negative status.
    final class StreamWatch: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload

        private var hasRefused = false

        /// Adds the handler to a new stream, with ``WireWatch`` after the conversion.
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

        /// Whether the status is valid in HTTP/2. Trailers have no status. An informational status must not end the
        /// stream.
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
