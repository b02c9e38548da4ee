// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import Synchronization

/// Cancels what is being done for a client when it closes its connection, or its side of it: nobody will read the answer.
///
/// Hummingbird carries on with a request whose client has left. Its own way to notice that gives up the connection
/// afterwards, which event streams can afford and requests cannot.
final class Departures: Sendable {
    private enum Connection {
        case idle
        /// One request at a time is under way.
        case working(cancel: @Sendable () -> Void)
        case left

        var isWorking: Bool { if case .working = self { true } else { false } }
    }

    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    /// How many connections have a request under way.
    var workingCount: Int { connections.withLock { $0.values.count { $0.isWorking } } }

    /// Runs `body` in a task that is cancelled when the client leaves, or the caller is cancelled.
    func cancelling<Value: Sendable>(
        when channel: any Channel, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A task of its own, since the connection's end has to reach it from outside. It never outlives this call.
        let task = Task { try await body() }
        begin(channel) { task.cancel() }
        defer { end(channel) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func begin(_ channel: any Channel, _ cancel: @escaping @Sendable () -> Void) {
        let hasLeft = connections.withLock { connections in
            guard case .idle? = connections[ObjectIdentifier(channel)] else { return true }
            connections[ObjectIdentifier(channel)] = .working(cancel: cancel)
            return false
        }
        if hasLeft { cancel() }
    }

    private func end(_ channel: any Channel) {
        connections.withLock { connections in
            if connections[ObjectIdentifier(channel)]?.isWorking == true {
                connections[ObjectIdentifier(channel)] = .idle
            }
        }
    }

    fileprivate func opened(_ channel: any Channel) {
        connections.withLock { $0[ObjectIdentifier(channel)] = .idle }
    }

    /// - Parameter isClosed: Whether nothing more comes of the connection at all.
    fileprivate func left(_ channel: any Channel, isClosed: Bool) {
        let former = connections.withLock { connections in
            let id = ObjectIdentifier(channel)
            return isClosed ? connections.removeValue(forKey: id) : connections.updateValue(.left, forKey: id)
        }
        if case .working(let cancel)? = former { cancel() }
    }
}

/// Tells of one connection when its client leaves.
final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let departures: Departures

    init(_ departures: Departures) { self.departures = departures }

    func handlerAdded(context: ChannelHandlerContext) { departures.opened(context.channel) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { departures.left(context.channel, isClosed: false) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        departures.left(context.channel, isClosed: true)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { departures.left(context.channel, isClosed: true) }
}
