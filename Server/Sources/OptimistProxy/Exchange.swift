// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import OptimistCore
import Synchronization

/// The state shared by one proxy's connections: the conditions, the counters, and the list of connections.
final class Exchange: Sendable {
    struct Seeds { var requests, responses: UInt64 }

    private let upstreams: [(host: String, port: Int)]
    let loop: any EventLoop
    private let state: Mutex<State>
    private let connections: NIOLoopBoundBox<[ObjectIdentifier: Connection]>

    private struct State {
        var conditions: NetworkConditions
        var counters = ProxyCounters()
        var lost = LostResponses()
        var random: SplitMix64
        var turn = 0
    }

    init(upstreams: [(host: String, port: Int)], conditions: NetworkConditions, seed: UInt64, loop: any EventLoop) {
        self.upstreams = upstreams
        self.loop = loop
        state = Mutex(State(conditions: conditions.bounded, random: SplitMix64(seed: seed)))
        connections = .makeBoxSendingValue([:], eventLoop: loop)
    }

    // MARK: From any thread

    var conditions: NetworkConditions {
        get { state.withLock { $0.conditions } }
        set { state.withLock { $0.conditions = newValue.bounded } }
    }
    var counters: ProxyCounters { state.withLock { $0.counters } }

    func dropNextResponses(_ count: Int) { state.withLock { $0.lost.dropNext(count) } }

    func count(_ change: (inout ProxyCounters) -> Void) { state.withLock { change(&$0.counters) } }

    func forEachConnection(_ body: @escaping @Sendable (Connection) -> Void) async {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                for connection in connections.value.values { body(connection) }
                continuation.resume()
            }
        }
    }

    // MARK: On the loop

    /// Sets up an accepted client. Its connection opens when the channel becomes active.
    func accept(_ client: any Channel) throws {
        let seeds = state.withLock { Seeds(requests: $0.random.next(), responses: $0.random.next()) }
        let connection = Connection(client: client, seeds: seeds, exchange: self)
        try client.pipeline.syncOperations.addHandlers(
            Door(exchange: self, connection: connection), connection.clientTap)
    }

    /// Opens a new connection, or resets it if the network is offline or the random draw for loss says so.
    func admit(_ connection: Connection) {
        connections.value[ObjectIdentifier(connection)] = connection
        let isLost = state.withLock { state in
            state.counters.connections += 1
            return state.conditions.isOffline || state.random.draws(percent: state.conditions.lossPercent)
        }
        if isLost { connection.reset() } else { connection.open() }
    }

    func upstreamsInTurn() -> ArraySlice<(host: String, port: Int)> {
        let turn = state.withLock { state in
            defer { state.turn += 1 }
            return state.turn % upstreams.count
        }
        return upstreams[turn...] + upstreams[..<turn]
    }

    func forget(_ connection: Connection) { connections.value[ObjectIdentifier(connection)] = nil }

    func requestPassed(_ mark: inout LostResponses.Mark) { state.withLock { $0.lost.requestPassed(&mark) } }

    func swallows(_ mark: LostResponses.Mark) -> Bool {
        state.withLock { state in
            guard state.lost.swallows(mark) else { return false }
            state.counters.droppedResponses += 1
            return true
        }
    }
}

private final class Door: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let exchange: Exchange
    private let connection: Connection

    init(exchange: Exchange, connection: Connection) {
        self.exchange = exchange
        self.connection = connection
    }

    func channelActive(context: ChannelHandlerContext) {
        exchange.admit(connection)
        context.fireChannelActive()
    }
}
