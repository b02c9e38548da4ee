// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore

/// Connects one side's socket to the connection, and limits reading to the available room.
final class Tap: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let connection: Connection
    private let outgoing: Flow
    private let incoming: Flow
    private var heldRead: ChannelHandlerContext?

    init(connection: Connection, outgoing: Flow, incoming: Flow) {
        self.connection = connection
        self.outgoing = outgoing
        self.incoming = incoming
    }

    func handlerAdded(context: ChannelHandlerContext) {
        outgoing.roomAppeared = { [weak self] in self?.readIfHeld() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { heldRead = nil }

    func read(context: ChannelHandlerContext) {
        if outgoing.hasRoom { context.read() } else { heldRead = context }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connection.take(unwrapInboundIn(data), from: outgoing)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { outgoing.takeEnd() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { incoming.advance() }

    func channelInactive(context: ChannelHandlerContext) {
        connection.sideClosed(outgoing: outgoing, incoming: incoming)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.reset() }

    private func readIfHeld() {
        guard let context = heldRead else { return }
        heldRead = nil
        context.read()
    }
}
