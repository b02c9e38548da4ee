// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore
import OptimistCore
import OptimistGazetteer
import OptimistServing
import OptimistWire

/// What the routes need.
struct Routes: Sendable {
    let service: JMAPService
    let accounts: Accounts
    let pokes: Pokes
    /// Nil: the server names no places.
    let gazetteer: Gazetteer?
    let surroundings: Surroundings
    let slots = RequestSlots()
    let isBehindProxy: Bool
    let bodyDeadline: TimeAmount
    /// Whether the database answers.
    let isReady: @Sendable () async -> Bool

    /// Adds every route of the server.
    func add(to router: Router<ServerContext>) {
        router.add(middleware: ProblemMiddleware())
        router.get("/healthz") { _, _ in Response(body: Array("{\"status\":\"ok\"}".utf8)) }
        router.get("/readyz") { _, _ in
            await isReady()
                ? Response(body: Array("{\"status\":\"ready\"}".utf8))
                : Response(RequestProblem(type: "about:blank", status: 503, detail: "The data cannot be reached."))
        }
        addAccountRoutes(to: router)
        router.get("/.well-known/jmap", use: session)
        router.get("/jmap/session", use: session)
        router.post("/jmap", use: api)
        router.get("/jmap/eventsource", use: eventSource)
        router.get("/places", use: place)
    }

    @Sendable
    private func session(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> Hummingbird.Response
    {
        let identity = try await accounts.identify(request.bearerToken)
        guard let email = try await accounts.email(of: identity.account) else { throw StoreError.noAccount }
        return Response(body: service.session(account: identity.account, username: email).json.bytes)
    }

    @Sendable
    private func api(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> Hummingbird.Response {
        let identity = try await accounts.identify(request.bearerToken)
        let slot = try slots.enter(identity.session)
        let body = try await request.body(upTo: RowSync.Limit.requestBytes, deadline: bodyDeadline, context)
        return Response(body: try await answer(body, account: identity.account), until: slot.leave)
    }

    /// Carries out a request, and tells those who listen to the account what it changed.
    func answer(_ body: some Sequence<UInt8>, account: String) async throws -> [UInt8] {
        let outcome = try await service.answer(body, account: account)
        if !outcome.changedTypes.isEmpty {
            pokes.changed(account: account, types: outcome.changedTypes, state: outcome.state)
        }
        return outcome.response
    }
}
