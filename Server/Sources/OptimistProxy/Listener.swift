// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import NIOPosix
import OptimistCore

/// The proxy's listening port, which can be closed and reopened.
///
/// While closed, it refuses connections, as a machine without a network does. Opening binds the same port again.
actor Listener {
    private let exchange: Exchange
    private var channel: (any Channel)?
    private let port: Int
    private var last: Task<Void, any Error>?

    /// Opens the port for the first time. 0 selects a free one.
    ///
    /// - Throws: `OptimistError` with code `cannotListen`.
    static func open(port: Int, exchange: Exchange) async throws -> (listener: Listener, port: Int) {
        let channel = try await bind(port, exchange)
        let port = channel.localAddress?.port ?? port
        return (Listener(exchange: exchange, channel: channel, port: port), port)
    }

    private init(exchange: Exchange, channel: any Channel, port: Int) {
        self.exchange = exchange
        self.channel = channel
        self.port = port
    }

    /// Reopens the same port, if it is closed.
    ///
    /// - Throws: `OptimistError` with code `cannotListen` if another program has taken the port.
    func open() async throws {
        try await inOrder { door in
            guard door.channel == nil else { return }
            door.channel = try await Self.bind(door.port, door.exchange)
        }
    }

    func close() async {
        try? await inOrder { door in  // Fails only if it is already closed.
            let channel = door.channel
            door.channel = nil
            try await channel?.close()
        }
    }

    /// Runs a step after all earlier steps, because opening and closing take a while and the last call must win.
    private func inOrder(_ step: @escaping @Sendable (isolated Listener) async throws -> Void) async throws {
        let task = Task { [last] in
            _ = await last?.result
            try await step(self)
        }
        last = task
        try await task.value
    }

    private static func bind(_ port: Int, _ exchange: Exchange) async throws -> any Channel {
        let bootstrap = ServerBootstrap(group: exchange.loop)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try exchange.accept(channel) }
            }
        do {
            return try await bootstrap.bind(host: "127.0.0.1", port: port).get()
        } catch {
            throw OptimistError(.cannotListen, "The proxy cannot listen on port \(port).", cause: error)
        }
    }
}
