// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOHTTP1

/// Hears when the client of a connection leaves, and stops the server's work for it: the client will not read the
/// answer.
///
/// A client has left when it closes its connection, or only its side of it. The server cannot tell these two apart before
/// it writes, which is too late. Hummingbird carries on in both cases, and its own way to notice closes the connection
/// afterwards.
///
/// The end of a connection is heard as long as the server reads from it. It does while it works on a request, unless the
/// client has sent several more at once.
final class DepartureWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    /// Sent down the pipeline around the work on a request. A connection has one request at a time.
    fileprivate enum Work: Sendable {
        case begins(giveUp: @Sendable () -> Void)
        case ends
    }

    private var giveUp: (@Sendable () -> Void)?
    private var hasLeft = false

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let work = event as? Work else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
        switch work {
        case .begins(let giveUp): if hasLeft { giveUp() } else { self.giveUp = giveUp }
        case .ends: giveUp = nil
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { leave() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        hasLeft = true
        giveUp?()
        giveUp = nil
    }
}

extension Channel {
    /// Works for the client at the other end, in a task that is cancelled when the client leaves or the caller is
    /// cancelled.
    ///
    /// - Throws: What `work` throws, which may ignore that it was cancelled.
    func whileClientStays<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A task of its own, since the end of the connection reaches it from outside. It does not outlive this call.
        let task = Task { try await work() }
        let begun = eventLoop.makePromise(of: Void.self)
        // The connection is gone, and its watch with it.
        begun.futureResult.whenFailure { _ in task.cancel() }
        triggerUserOutboundEvent(DepartureWatch.Work.begins { task.cancel() }, promise: begun)
        defer { triggerUserOutboundEvent(DepartureWatch.Work.ends, promise: nil) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
