// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOPosix
package import OptimistCore

/// A network that is as bad as you say: a TCP proxy on this machine between a client and a server.
///
/// It listens on 127.0.0.1, forwards every byte in order, and does to them what its ``conditions`` say. They may be
/// changed at any time, for new and for open connections. It reads no protocol, so it works for HTTP, for
/// event streams and for databases alike.
///
/// ```swift
/// let proxy = try await FaultProxy.start(upstream: ("127.0.0.1", 8080))
/// await proxy.setConditions(.flaky)
/// …                                    // talk to 127.0.0.1, port proxy.port
/// await proxy.shutdown()
/// ```
///
/// Every method may be called from any thread. A proxy runs until ``shutdown()``, even if it is no longer referenced.
package final class FaultProxy: Sendable {
    /// The port of 127.0.0.1 that clients connect to.
    package let port: Int

    private let exchange: Exchange
    private let listener: Listener
    private let end: EventLoopPromise<Void>

    private init(exchange: Exchange, listener: Listener, port: Int) {
        self.exchange = exchange
        self.listener = listener
        self.port = port
        end = exchange.loop.makePromise()
    }

    deinit { end.succeed() }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - listenPort: A port of 127.0.0.1. 0, the default, takes a free one: see ``port``.
    ///   - upstream: The server. It need not be up; a connection made while it is down is reset.
    ///   - conditions: The network to begin with. Default: nothing is wrong with it.
    ///   - seed: Starts every draw. The same seed draws the same losses for the same chunks.
    /// - Throws: `OptimistError` with code `cannotListen`, when the port is taken or not allowed.
    package static func start(
        listenPort: Int = 0, upstream: (host: String, port: Int), conditions: NetworkConditions = .online,
        seed: UInt64 = .random(in: .min ... .max)
    ) async throws -> FaultProxy {
        try await start(listenPort: listenPort, upstreams: [upstream], conditions: conditions, seed: seed)
    }

    /// Starts to listen, before several equal servers.
    ///
    /// - Parameters:
    ///   - listenPort: A port of 127.0.0.1. 0, the default, takes a free one: see ``port``.
    ///   - upstreams: The servers, at least one. Each connection goes to the next one in turn, or to the one after it while
    ///     that is down. A connection made while all are down is reset.
    ///   - conditions: The network to begin with. Default: nothing is wrong with it.
    ///   - seed: Starts every draw. The same seed draws the same losses for the same chunks.
    /// - Throws: `OptimistError` with code `cannotListen`, when the port is taken or not allowed.
    package static func start(
        listenPort: Int = 0, upstreams: [(host: String, port: Int)], conditions: NetworkConditions = .online,
        seed: UInt64 = .random(in: .min ... .max)
    ) async throws -> FaultProxy {
        precondition(!upstreams.isEmpty, "A proxy needs a server.")
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let exchange = Exchange(upstreams: upstreams, conditions: conditions, seed: seed, loop: loop)
        let (listener, port) = try await Listener.open(port: listenPort, exchange: exchange)
        if conditions.isOffline { await listener.close() }
        return FaultProxy(exchange: exchange, listener: listener, port: port)
    }

    /// What the network is like now. Values out of their range have been brought into it.
    package var conditions: NetworkConditions { exchange.conditions }

    /// The counts of bytes and connections so far.
    package var counters: ProxyCounters { exchange.counters }

    /// Changes the network. When this returns it holds for every connection: going offline has reset them all and
    /// closed the port, and the end of a stall has set them in motion. A chunk that was already delayed keeps its
    /// delay.
    ///
    /// - Throws: `OptimistError` with code `cannotListen`, when another program took the port while this was offline.
    package func setConditions(_ conditions: NetworkConditions) async throws {
        exchange.conditions = conditions
        if conditions.isOffline { await listener.close() } else { try await listener.open() }
        await exchange.forEachConnection { $0.conditionsChanged() }
    }

    /// Loses the next answers after the server has acted: each request arrives, its response does not, and
    /// the connection is reset. The classic way to make a client send something twice.
    ///
    /// As the response counts the first bytes that the server sends on a connection after a request that passed
    /// after this call. An event stream that is already open is left alone. Several calls add up.
    package func dropNextResponses(_ count: Int) { exchange.dropNextResponses(count) }

    /// Resets every open connection, and returns when that is done. New ones are let in as before.
    package func resetAll() async { await exchange.forEachConnection { $0.reset() } }

    /// Stops listening and resets every open connection. May be called twice.
    package func shutdown() async {
        await listener.close()
        await resetAll()
        end.succeed()
    }

    /// Returns when the proxy has been shut down. Cancelling the caller does not stop the proxy.
    package func closed() async { try? await end.futureResult.get() }  // It never fails.
}

/// What a ``FaultProxy`` has seen since it was started.
package struct ProxyCounters: Codable, Equatable, Sendable {
    /// Connections accepted, those included that were reset at once.
    package internal(set) var connections = 0
    /// Bytes handed on to the server.
    package internal(set) var requestBytes = 0
    /// Bytes handed on to clients.
    package internal(set) var responseBytes = 0
    /// Connections that were broken, whether by the conditions, by a call, by a peer or because the server was down.
    package internal(set) var resets = 0
    /// Responses swallowed by ``FaultProxy/dropNextResponses(_:)``. Each is also a reset.
    package internal(set) var droppedResponses = 0
}

extension OptimistError.Code {
    /// A local port could not be opened: it is taken, or not allowed.
    package static let cannotListen = OptimistError.Code("cannotListen")
}
