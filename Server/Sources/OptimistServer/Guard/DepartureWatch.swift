// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOHTTP1

/// Detects that a client has left, and stops the server's work for it.
///
/// A client leaves by closing its connection or only its sending side. The server cannot distinguish the two before it
/// writes, which is too late. Hummingbird keeps working in both cases, and its own detection closes the connection
/// afterwards.
///
/// Detection works only while the server reads from the connection. The server does so while it works on a request,
/// unless the client has pipelined several more requests.
final class DepartureWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    /// An outbound event when the work on a request begins or ends. A connection has one request at a time.
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
    /// Runs `work` in a task that is cancelled when the client leaves or the caller is cancelled.
    ///
    /// - Throws: The error of `work`. `work` may ignore its cancellation.
    func whileClientStays<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // The task is unstructured, because the connection must be able to cancel it. It does not outlive this call.
        let task = Task { try await work() }
        let begun = eventLoop.makePromise(of: Void.self)
        // The connection has closed and removed the watch.
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
