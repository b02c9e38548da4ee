// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOHTTP1

/// Handles the parts of HTTP/1 request heads that concern the connection.
///
/// - `Expect: 100-continue`: the client sends its body when the server asks for it. If the request is refused instead,
///   the connection closes after the answer, because the client may or may not send the body.
/// - `Upgrade` and `CONNECT`: the server does not support other protocols, but its decoder treats the following bytes
///   as another protocol and stops reading. So the connection closes after the answer, and proxies do not reuse it for
///   other users.
/// - HTTP/1.0: the `Host` field is optional, and the connection closes after the answer unless the client asks to keep
///   it.
///
/// > Source: RFC 9110 §7.8, §9.3.6 and §10.1.1, RFC 9112 §3.2 and §9.3.
final class RequestHeads: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Sent as an outbound event when a route starts to read the body.
    struct BodyIsAwaited: Sendable {}

    private var awaitsContinue = false
    private var closesAfterAnswer = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            // The client sends the body without waiting.
            awaitsContinue = false
            return context.fireChannelRead(data)
        }
        awaitsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        if head.method == .CONNECT || head.headers.contains(name: "Upgrade") { closesAfterAnswer = true }
        if head.version == .http1_0 {
            awaitsContinue = false
            if !head.isKeepAlive { closesAfterAnswer = true }
            if !head.headers.contains(name: "Host") { head.headers.add(name: "Host", value: "localhost") }
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is BodyIsAwaited else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
        guard awaitsContinue else { return }
        awaitsContinue = false
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if awaitsContinue { closesAfterAnswer = true }
            awaitsContinue = false
            if closesAfterAnswer { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            guard closesAfterAnswer else { return context.write(data, promise: promise) }
            context.writeAndFlush(data, promise: promise)
            context.close(mode: .output, promise: nil)
        }
    }
}
