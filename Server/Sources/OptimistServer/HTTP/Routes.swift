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
    /// What all requests together may hold.
    let memory: MemoryRoom
    let isBehindProxy: Bool
    /// Nil: the one that a request came to.
    let publicOrigin: String?
    let bodyDeadline: TimeAmount
    /// Tries whether the data can be written. Returns a sentence about the trouble, or nil if there is none.
    let trouble: @Sendable () async -> String?

    /// Adds every route of the server.
    func add(to router: Router<ServerContext>) {
        router.add(middleware: HeadMiddleware())
        router.add(middleware: AnswerFields(isBehindProxy: isBehindProxy))
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: RequestCheck())
        router.get("/healthz") { _, _ in Response(body: Array("{\"status\":\"ok\"}".utf8)) }
        router.get("/readyz") { _, _ in
            guard let trouble = await trouble() else {
                return Response(body: Array("{\"status\":\"ready\"}".utf8))
            }
            throw RequestProblem(type: "about:blank", status: 503, detail: trouble)
        }
        addAccountRoutes(to: router)
        addOwnerRoutes(to: router)
        router.get("/.well-known/jmap", use: session)
        router.get("/jmap/session", use: session)
        router.post("/jmap", use: api)
        router.get("/jmap/eventsource", use: eventSource)
        router.get("/places", use: place)
    }

    /// The address under which clients know the server, without a slash at its end.
    func origin(of request: Hummingbird.Request) -> String {
        publicOrigin ?? request.origin(isBehindProxy: isBehindProxy)
    }

    @Sendable
    private func session(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> Hummingbird.Response
    {
        let identity = try await accounts.identify(request.bearerToken)
        guard let email = try await accounts.email(of: identity.account) else { throw StoreError.noAccount }
        let session = service.session(account: identity.account, username: email, origin: origin(of: request))
        return Response(body: session.json.bytes)
    }

    @Sendable
    private func api(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> Hummingbird.Response {
        let identity = try await accounts.identify(request.bearerToken)
        let slot = try slots.enter(identity.session)
        let share = memory.share(of: identity.account)
        let bytes = try await answer(request, share, account: identity.account, context)
        share.keep(answer: bytes.count)
        return Response(body: bytes) {
            share.leave()
            slot.leave()
        }
    }

    /// Reads the body, and carries it out if what it is parsed into has room and its client stays.
    private func answer(
        _ request: Hummingbird.Request, _ share: MemoryShare, account: String, _ context: ServerContext
    ) async throws -> [UInt8] {
        let body = try await request.body(
            upTo: RowSync.Limit.requestBytes, deadline: bodyDeadline, context, taking: share.take)
        try share.take(body.withUnsafeBytes(ParsedSize.bytes))
        return try await context.channel.whileClientStays {
            try await answer(body, account: account, room: share)
        }
    }

    /// Carries out a request, and tells those who listen to the account what it changed.
    func answer(
        _ body: some Sequence<UInt8>, account: String, room: (any AnswerRoom)? = nil
    ) async throws -> [UInt8] {
        let outcome: JMAPService.Outcome
        do { outcome = try await service.answer(body, account: account, room: room) } catch StoreError.noAccount {
            // A database that went back may lack an account that was not deleted.
            let isDeleted = try await accounts.store.isDeleted(account: account)
            throw Unauthorized(description: "The account is gone.", end: isDeleted ? .accountDeleted : .revoked)
        }
        if !outcome.changedTypes.isEmpty {
            pokes.changed(account: account, types: outcome.changedTypes, state: outcome.state)
            pokes.announce(.changed(account: account, types: outcome.changedTypes, state: outcome.state))
        }
        return outcome.response
    }
}
