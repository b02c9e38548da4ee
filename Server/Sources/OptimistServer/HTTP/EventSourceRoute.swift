// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import ServiceLifecycle

/// `GET /jmap/eventsource?types=*&closeafter=no&ping=30`.
///
/// > Source: RFC 8620 §7.3.
extension Routes {
    /// The shortest time between two events of one connection.
    private static let pokeInterval: Duration = .milliseconds(50)

    @Sendable
    func eventSource(_ request: Hummingbird.Request, _ context: SignedInContext) async throws -> Hummingbird.Response {
        let identity = context.identity
        try pokes.checkRoom(for: identity.account)
        let query = request.uri.queryParameters
        let types = query["types"].map(String.init) ?? "*"
        let ping = query["ping"].flatMap { Int($0) } ?? 30
        let stream = EventStream(
            listener: Listener(
                account: identity.account, session: identity.session,
                types: types == "*"
                    ? Set(service.schema.types.keys) : Set(types.split(separator: ",").map(String.init))),
            // Zero turns pings off.
            pingSeconds: ping == 0 ? nil : min(max(ping, 1), 300), closesAfterState: query["closeafter"] == "state")
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store",
                // The connection closes when the stream ends, so the client must not reuse it.
                .connection: "close",
            ],
            body: .init { writer in
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await withGracefulShutdownHandler {
                        try await run(stream, identity, &writer)
                    } onGracefulShutdown: {
                        stream.listener.close()
                    }
                } onInboundClosed: {
                    stream.listener.close()
                }
                try await writer.finish(nil)
            })
    }

    private struct EventStream: Sendable {
        let listener: Listener
        let pingSeconds: Int?
        let closesAfterState: Bool
    }

    @concurrent
    private func run(
        _ stream: EventStream, _ identity: Accounts.Identity, _ writer: inout any ResponseBodyWriter
    ) async throws {
        let listener = stream.listener
        pokes.add(listener)
        defer { pokes.remove(listener) }
        // The session may have ended between authentication and registration.
        if let end = accounts.end(of: identity) { listener.ended(end.rawValue) }
        try await watch.follow(identity.account, telling: listener)
        let pinging = pingRegularly(stream)
        var resting: Task<Void, Never>?
        defer {
            pinging?.cancel()
            resting?.cancel()
        }
        for await _ in listener.wakes {
            guard let event = listener.takeEvent(pingSeconds: stream.pingSeconds ?? 0) else { continue }
            try await writer.write(ByteBuffer(string: event.text))
            switch event {
            case .ping: break
            case .sessionEnded: return
            case .state where stream.closesAfterState: return
            case .state: resting = after(Self.pokeInterval) { listener.rested() }
            }
        }
    }

    private func pingRegularly(_ stream: EventStream) -> Task<Void, Never>? {
        guard let seconds = stream.pingSeconds else { return nil }
        let clock = dependencies.clock
        return dependencies.spawn {
            while (try? await clock.sleep(for: .seconds(seconds))) != nil { stream.listener.pingIsDue() }
        }
    }

    private func after(_ duration: Duration, _ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        let clock = dependencies.clock
        return dependencies.spawn {
            if (try? await clock.sleep(for: duration)) != nil { body() }
        }
    }
}
