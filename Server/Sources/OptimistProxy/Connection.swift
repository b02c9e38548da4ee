// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOPosix

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A client's connection, its connection to the server, and the two flows between them. Confined to the proxy's event
/// loop.
final class Connection {
    private let exchange: Exchange
    private let client: any Channel
    private var server: (any Channel)?
    private let requests: Flow
    private let responses: Flow
    private var mark = LostResponses.Mark()
    private var isOver = false

    init(client: any Channel, seeds: Exchange.Seeds, exchange: Exchange) {
        let loop = client.eventLoop.assumeIsolated()
        self.exchange = exchange
        self.client = client
        requests = Flow(
            link: Link(direction: .request, seed: seeds.requests), loop: loop, conditions: { exchange.conditions })
        responses = Flow(
            link: Link(direction: .response, seed: seeds.responses), loop: loop, conditions: { exchange.conditions })
    }

    var clientTap: Tap { Tap(connection: self, outgoing: requests, incoming: responses) }

    func open() {
        requests.delivered = { [exchange] count in exchange.count { $0.requestBytes += count } }
        responses.delivered = { [exchange] count in exchange.count { $0.responseBytes += count } }
        responses.cutOff = { [weak self] in self?.closeAfterCut() }
        responses.target = client
        connect(to: exchange.upstreamsInTurn())
    }

    private func connect(to upstreams: ArraySlice<(host: String, port: Int)>) {
        guard let upstream = upstreams.first else { return reset() }
        let this = NIOLoopBound(self, eventLoop: client.eventLoop)
        ClientBootstrap(group: client.eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = this.value
                    try channel.pipeline.syncOperations.addHandler(
                        Tap(connection: connection, outgoing: connection.responses, incoming: connection.requests))
                }
            }
            .connect(host: upstream.host, port: upstream.port)
            .assumeIsolated()
            .whenComplete { [self] result in connected(result, orElse: upstreams.dropFirst()) }
    }

    func take(_ chunk: ByteBuffer, from flow: Flow) {
        guard !isOver else { return }
        if flow === requests {
            exchange.requestPassed(&mark)
        } else if exchange.swallows(mark) {
            return reset()
        }
        if !flow.take(chunk) { reset() }
    }

    /// Handles the close of one side's channel. NIO closes it after both directions have ended. If this side has
    /// already received the other side's end of stream, the close is orderly, and the last bytes from this side are
    /// still delivered. Otherwise the connection broke, and the other side is reset.
    func sideClosed(outgoing: Flow, incoming: Flow) {
        guard !isOver else { return }
        guard incoming.hasDeliveredEnd else { return reset() }
        outgoing.takeEnd()
        if outgoing.hasDeliveredEnd { finish() }
    }

    func reset() {
        guard !isOver else { return }
        exchange.count { $0.resets += 1 }
        finish()
        abort(client)
        if let server { abort(server) }
    }

    /// Applies changed conditions: resumes stalled flows, or resets if the network is offline.
    func conditionsChanged() {
        guard !exchange.conditions.isOffline else { return reset() }
        requests.advance()
        responses.advance()
    }

    private func connected(
        _ result: Result<any Channel, any Error>, orElse others: ArraySlice<(host: String, port: Int)>
    ) {
        switch result {
        case .success(let channel) where isOver: abort(channel)
        case .success(let channel):
            server = channel
            requests.target = channel
        case .failure where isOver: break
        case .failure: connect(to: others)
        }
    }

    private func closeAfterCut() {
        guard !isOver else { return }
        finish()
        client.close(promise: nil)
        if let server { abort(server) }
    }

    private func finish() {
        isOver = true
        requests.stop()
        responses.stop()
        exchange.forget(self)
    }

    /// Closes with a reset (RST) instead of an orderly end (FIN), by setting the linger time to zero.
    private func abort(_ channel: any Channel) {
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        channel.close(promise: nil)
    }
}
