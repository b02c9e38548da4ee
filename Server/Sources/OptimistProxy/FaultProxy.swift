// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOPosix
package import OptimistCore

/// A TCP proxy on this machine that simulates a bad network between a client and a server.
///
/// It listens on 127.0.0.1 and forwards every byte in order, subject to its ``conditions``. They may change at any
/// time, for new and for open connections. It does not parse a protocol, so it works for HTTP, event streams and
/// databases.
///
/// ```swift
/// let proxy = try await FaultProxy.start(upstream: ("127.0.0.1", 8080))
/// await proxy.setConditions(.flaky)
/// …                                    // talk to 127.0.0.1, port proxy.port
/// await proxy.shutdown()
/// ```
///
/// Every method may be called from any thread. A proxy runs until ``shutdown()``, even without references to it.
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

    /// Starts to listen for one server.
    ///
    /// - Throws: `OptimistError` with code `cannotListen` if the port is taken or not allowed.
    package static func start(
        listenPort: Int = 0, upstream: (host: String, port: Int), conditions: NetworkConditions = .online,
        seed: UInt64 = .random(in: .min ... .max)
    ) async throws -> FaultProxy {
        try await start(listenPort: listenPort, upstreams: [upstream], conditions: conditions, seed: seed)
    }

    /// Starts to listen for several equal servers.
    ///
    /// - Parameters:
    ///   - listenPort: A port of 127.0.0.1. 0, the default, selects a free one: see ``port``.
    ///   - upstreams: The servers, at least one. Connections are assigned round-robin, skipping servers that are down.
    ///     While all are down, the proxy resets new connections.
    ///   - conditions: The initial network conditions. Default: a perfect network.
    ///   - seed: Seeds every random draw. The same seed draws the same losses for the same chunks.
    /// - Throws: `OptimistError` with code `cannotListen` if the port is taken or not allowed.
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

    /// The current network conditions, with each value clamped to its range.
    package var conditions: NetworkConditions { exchange.conditions }

    package var counters: ProxyCounters { exchange.counters }

    /// Changes the network conditions. When it returns, they apply to every connection: going offline has reset all of
    /// them and closed the port, and ending a stall has resumed them. A chunk that was already delayed keeps its delay.
    ///
    /// - Throws: `OptimistError` with code `cannotListen` if another program took the port while this proxy was
    ///   offline.
    package func setConditions(_ conditions: NetworkConditions) async throws {
        exchange.conditions = conditions
        if conditions.isOffline { await listener.close() } else { try await listener.open() }
        await exchange.forEachConnection { $0.conditionsChanged() }
    }

    /// Loses the next responses after the server has acted: each request arrives, but the proxy drops its response and
    /// resets the connection. Use it to make a client send something twice.
    ///
    /// Only requests that the proxy forwards after this call count. The first data that the server then sends on the
    /// same connection is the response. Event streams that are already open are not affected. Several calls add up.
    package func dropNextResponses(_ count: Int) { exchange.dropNextResponses(count) }

    /// Resets every open connection, and returns when all are reset. New connections are still accepted.
    package func resetAll() async { await exchange.forEachConnection { $0.reset() } }

    /// Stops listening and resets every open connection. May be called twice.
    package func shutdown() async {
        await listener.close()
        await resetAll()
        end.succeed()
    }

    /// Returns when the proxy is shut down. Cancelling the caller does not stop the proxy.
    package func closed() async { try? await end.futureResult.get() }  // Never fails.
}

/// What a ``FaultProxy`` has counted since it started.
package struct ProxyCounters: Codable, Equatable, Sendable {
    /// Accepted connections, including those that were reset immediately.
    package internal(set) var connections = 0
    package internal(set) var requestBytes = 0
    package internal(set) var responseBytes = 0
    /// Broken connections, whether because of the conditions, a call, a peer or a server that was down.
    package internal(set) var resets = 0
    /// Responses dropped by ``FaultProxy/dropNextResponses(_:)``. Each also counts as a reset.
    package internal(set) var droppedResponses = 0
}

extension OptimistError.Code {
    /// A local port cannot be opened: it is taken, or not allowed.
    package static let cannotListen = OptimistError.Code("cannotListen")
}
