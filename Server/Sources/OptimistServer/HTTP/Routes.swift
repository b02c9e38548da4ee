// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore
import OptimistCore
import OptimistGazetteer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Tracing

struct Routes: Sendable {
    let service: JMAPService
    let accounts: Accounts
    let pokes: Pokes
    let gazetteer: Gazetteer?
    let dependencies: Dependencies
    let slots = RequestSlots()
    let memory: MemoryRoom
    let isBehindProxy: Bool
    /// Nil to use the origin of each request.
    let publicOrigin: String?
    let bodyDeadline: TimeAmount
    /// Returns a sentence about why the data cannot be written, or nil.
    let trouble: @Sendable () async -> String?
    var metrics: ServerMetrics?
    var refusals: RecentRefusals?
    /// Nil if the server does not collect health reports.
    var health: HealthReception?
    /// Nil if no app opens invitation links.
    var joinPage: JoinPage?

    func add(to router: Router<ServerContext>, beside apps: [AppRoute]) {
        if Self.isTraced { router.add(middleware: TracingMiddleware()) }
        if let metrics { router.add(middleware: RequestMetrics(metrics: metrics)) }
        router.add(middleware: HeadMiddleware())
        router.add(middleware: AnswerFields(isBehindProxy: isBehindProxy))
        router.add(middleware: ProblemMiddleware())
        if let refusals { router.add(middleware: RefusalWatch(refusals: refusals)) }
        router.add(middleware: RequestCheck())
        router.add(middleware: CleanTarget())
        let document = OpenAPI.document(beside: apps, with: extras).bytes
        router.get("/openapi.json") { _, _ in Response(body: document) }
        addPublic(to: router)
        let users = router.group().add(middleware: Authentication(accounts: accounts)).group(
            context: SignedInContext.self)
        addForUsers(to: users)
        let senders = router.group().add(middleware: SenderAuthentication(routes: self))
        addForSenders(to: senders.group(context: SenderContext.self))
        addServiceRoutes(to: senders.group(context: ServiceContext.self))
        for app in apps { add(app, to: users) }
    }

    /// All other routes are in groups guarded by ``Authentication`` or ``SenderAuthentication``.
    private func addPublic(to router: Router<ServerContext>) {
        router.get("/healthz") { _, _ in Response(body: Array("{\"status\":\"ok\"}".utf8)) }
        router.get("/readyz") { _, _ in
            guard let trouble = await trouble() else {
                return Response(body: Array("{\"status\":\"ready\"}".utf8))
            }
            throw RequestProblem(type: "about:blank", status: 503, detail: trouble)
        }
        addAccountRoutes(to: router)
        addResetRoutes(to: router)
        addInvitation(to: router)
        if let health { addHealthReports(health, to: router) }
        if let joinPage { addJoinPage(joinPage, to: router) }
    }

    private var extras: Set<OpenAPI.Extra> {
        var extras: Set<OpenAPI.Extra> = []
        if health != nil { extras.insert(.health) }
        if joinPage != nil { extras.insert(.joinPage) }
        return extras
    }

    private func addForUsers(to users: RouterGroup<SignedInContext>) {
        addOwnerRoutes(to: users)
        addIdentityRoutes(to: users)
        users.get("/jmap/eventsource", use: eventSource)
        users.get("/places", use: place)
    }

    private func addForSenders(to senders: RouterGroup<SenderContext>) {
        senders.get("/.well-known/jmap", use: session)
        senders.get("/jmap/session", use: session)
        senders.post("/jmap", use: api)
    }

    var watch: PokeWatch { PokeWatch(service: service, pokes: pokes, dependencies: dependencies) }

    /// Where clients reach the server, without a trailing slash.
    func origin(of request: Hummingbird.Request) -> String {
        publicOrigin ?? request.origin(isBehindProxy: isBehindProxy)
    }

    @Sendable
    private func session(_ request: Hummingbird.Request, _ context: SenderContext) async throws
        -> Hummingbird.Response
    {
        switch context.sender {
        case .person(let identity):
            let account = identity.account
            guard let email = try await accounts.email(of: account) else { throw StoreError.noAccount }
            let session = try await service.session(account: account, username: email, origin: origin(of: request))
            return Response(body: session.json.bytes)
        case .service(let key):
            let asked = request.uri.queryParameters.filter { $0.key == "accountId" }.map { String($0.value) }
            guard asked.count <= Self.accountsInSession else {
                throw RequestProblem(
                    type: "about:blank", status: 400,
                    detail: "A session lists at most \(Self.accountsInSession) accounts.")
            }
            let session = try await service.session(
                of: key.reader, named: key.name, listing: Set(asked), origin: origin(of: request))
            return Response(body: session.json.bytes)
        }
    }

    /// The most accounts that a program may ask a session to list.
    private static let accountsInSession = 100

    @Sendable
    private func api(_ request: Hummingbird.Request, _ context: SenderContext) async throws -> Hummingbird.Response {
        let slot = try slots.enter(context.sender.slot)
        let reader: Reader =
            switch context.sender {
            case .person(let identity): .person(identity.account)
            case .service(let key): .service(key.reader)
            }
        let share = memory.share(of: reader.turn)
        let bytes = try await answer(request, share, of: reader, context.server)
        share.keep(answer: bytes.count)
        return Response(body: bytes, on: context.server.channel.eventLoop) {
            share.leave()
            slot.leave()
        }
    }

    /// Reads a request's body, and carries the request out if there is room for its parsed form and the client stays
    /// connected.
    private func answer(
        _ request: Hummingbird.Request, _ share: MemoryShare, of reader: Reader, _ context: ServerContext
    ) async throws -> [UInt8] {
        let body = try await request.body(
            upTo: RowSync.Limit.requestBytes, deadline: bodyDeadline, context, taking: share.take)
        try share.take(body.withUnsafeBytes(ParsedSize.bytes))
        return try await context.channel.whileClientStays {
            try await answer(body, of: reader, room: share)
        }
    }

    private static var isTraced: Bool { !(InstrumentationSystem.tracer is NoOpTracer) }

    private func exchange(
        _ body: some Sequence<UInt8>, of reader: Reader, room: (any AnswerRoom)?
    ) async throws -> JMAPService.Outcome {
        guard Self.isTraced else { return try await service.answer(body, as: reader, room: room) }
        return try await withSpan("optimist.exchange") { _ in
            try await service.answer(body, as: reader, room: room)
        }
    }

    /// Carries out a person's request, and notifies the listeners of the accounts that it changes.
    func answer(
        _ body: some Sequence<UInt8>, of person: String, room: (any AnswerRoom)? = nil
    ) async throws -> [UInt8] {
        try await answer(body, of: .person(person), room: room)
    }

    /// Carries out the request of a person or a program, and notifies the listeners of the accounts that it changes.
    func answer(
        _ body: some Sequence<UInt8>, of reader: Reader, room: (any AnswerRoom)? = nil
    ) async throws -> [UInt8] {
        let outcome: JMAPService.Outcome
        do { outcome = try await exchange(body, of: reader, room: room) } catch StoreError.noAccount {
            // A restored database may lack an account that was never deleted.
            let isDeleted = try await accounts.store.isDeleted(account: reader.person ?? "")
            throw Unauthorized(description: "The account does not exist.", end: isDeleted ? .accountDeleted : .revoked)
        }
        metrics?.carriedOut(outcome.report)
        refusals?.add(outcome.report, account: reader.turn)
        for change in outcome.changes {
            watch.announce(account: change.account, types: change.types, state: change.state)
        }
        for (account, event) in outcome.events { accounts.spaceLog.note(event, in: account) }
        return outcome.response
    }
}
