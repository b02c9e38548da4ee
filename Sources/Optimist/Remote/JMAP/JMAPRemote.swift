// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
public import OptimistSession
@_spi(Internals) import OptimistWire

/// The default remote: a server that speaks JMAP with the row-sync capability, such as `optimist serve`.
public final class JMAPRemote: Remote {
    private struct Connection {
        var resource: SessionResource
        var account: String
    }

    private let session: Session
    private let schemaVersion: Int
    private let connection = Mutex<Connection?>(nil)
    private let connecting = SharedWork<RemoteAccount>()

    /// How often the server should send a sign of life. The stream ends after twice that time without data.
    private static let ping = Duration.seconds(30)
    /// Large requests get extra time at this rate, because a group of rows that were written together cannot be split.
    private static let leastBytesPerSecond = 32_000

    /// - Parameters:
    ///   - session: Signs the requests. Each request is attempted once, because the engine retries.
    ///   - schemaVersion: The schema version that the app was built with. Default: 1.
    public init(session: Session, schemaVersion: Int = 1) {
        self.session = session
        self.schemaVersion = schemaVersion
    }

    /// The session's account.
    public var signInState: SignInState {
        switch session.state {
        case .restoring, .locked: .unknown
        case .signedOut: .nobody
        case .active(let account), .refreshing(let account), .degraded(let account, _):
            .account(name(of: account.id))
        }
    }

    /// The name of an account and its server. It omits the port, which does not identify the server.
    private func name(of account: String) -> String { "\(session.server.host() ?? "")#\(account)" }

    /// Both guarantees, as Protocol.md requires.
    public var guarantees: RemoteGuarantees { RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true) }

    public func connect() async throws -> RemoteAccount {
        let resource = try await discover()
        guard let account = resource.primaryAccount else {
            throw RemoteFailure.forbidden("The server does not have an account for this session.")
        }
        connection.withLock { $0 = Connection(resource: resource, account: account) }
        let schema = resource.accounts[account]
        var remote = RemoteAccount(
            id: name(of: account), initialCursor: resource.initialState,
            tables: schema.map { $0.typeNames(at: schemaVersion) },
            schema: schema.flatMap { $0.version <= schemaVersion ? $0 : nil }, tombstoneDays: resource.tombstoneDays)
        remote.ownAccount = account
        return remote
    }

    public func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        let connection = try await connected()
        let call = PushCall(push, account: connection.account, schemaVersion: schemaVersion)
        return try call.answer(from: try await send(call.request, to: connection.resource))
    }

    public func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        guard let page = try await pullAll([request]).first else { throw RemoteFailure.unreachable("no page") }
        return try page.get()
    }

    public func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        let connection = try await connected()
        let call = PullCall(requests, account: connection.account, schemaVersion: schemaVersion)
        return call.pages(from: try await send(call.request, to: connection.resource))
    }

    public func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        let connection = try await connected()
        let call = ChangedCall(since: cursors, account: connection.account, schemaVersion: schemaVersion)
        return try call.answer(from: try await send(call.request, to: connection.resource))
    }

    public func preview(of link: InvitationLink) async throws -> InvitationPreview? {
        let asked: JSON = [
            "space": .string(link.space.uuidString.lowercased()), "secret": .string(link.secret.text),
        ]
        let request = SessionRequest(
            "/spaces/invitation", method: .post,
            headerFields: [.contentType: "application/json", .accept: "application/json"], body: asked.bytes)
        let answer = try await translatingErrors { try await session.sendWithoutToken(request) }
        let (head, body) = (answer.head, answer.body)
        // Another 404 is not from the server, or from one without spaces.
        if head.status == .notFound, head.headerFields[.contentType] == "application/problem+json" { return nil }
        try Self.check(head, body)
        guard let preview = InvitationPreview(json: try? JSON(parsing: body)) else {
            throw RemoteFailure.unreachable("unreadable preview of an invitation")
        }
        return preview
    }

    public func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let connection = try await connected()
        let call = SnapshotPull(request, account: connection.account, schemaVersion: schemaVersion)
        return try call.page(from: try await send(call.request, to: connection.resource))
    }

    public func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws {
        let template = OwnTarget.target(of: try await connected().resource.eventSourceURL, for: session.server)
        guard !template.isEmpty else { throw RemoteFailure.noPokes }
        let target = template.replacing("{types}", with: "*").replacing("{closeafter}", with: "no")
            .replacing("{ping}", with: "\(Self.ping.components.seconds)")
        let request = SessionRequest(target, headerFields: [.accept: "text/event-stream"], attempts: 1)
        try await translatingErrors {
            try await session.stream(request, idleTimeout: Self.ping * 2) { [session] head, body in
                if let failure = AnswerClass.failure(ofStream: head) { throw failure }
                receive(.alive)
                var parser = EventStreamParser()
                for try await chunk in body {
                    for event in try parser.feed(chunk) { Self.take(event, session, receive) }
                }
            }
        }
    }

    private static func take(_ event: EventStreamParser.Event, _ session: Session, _ receive: (RemotePoke) -> Void) {
        switch event.event {
        case "state": receive(.changed)
        case "session":
            let reason = (try? JSON(parsing: event.data.utf8))?["reason"]?.string
            session.end(SignOutReason(rawValue: reason ?? "revoked"))
        default: receive(.alive)
        }
    }

    // MARK: - Requests

    private func connected() async throws -> Connection {
        if let connection = connection.withLock({ $0 }) { return connection }
        _ = try await connecting.value(session.dependencies.spawn) { try await self.connect() }
        guard let connection = connection.withLock({ $0 }) else { throw RemoteFailure.unreachable("not connected") }
        return connection
    }

    /// Fetches the session resource. Follows redirects on the same host only: the session refuses other origins.
    private func discover() async throws -> SessionResource {
        var target = "/.well-known/jmap"
        for _ in 0..<4 {
            let request = SessionRequest(target, headerFields: [.accept: "application/json"], attempts: 1)
            let answer = try await translatingErrors { try await session.send(request) }
            let (head, body) = (answer.head, answer.body)
            if head.status.kind == .redirection, let location = head.headerFields[.location] {
                target = location
                continue
            }
            if head.status == .forbidden || head.status == .notFound {
                throw RemoteFailure.forbidden("The server does not offer sync for this account (\(head.status.code)).")
            }
            try Self.check(head, body)
            guard let json = try? JSON(parsing: body) else {
                // The answer is truncated, or is the sign-in page of a captive network.
                throw RemoteFailure.unreachable("unreadable session resource")
            }
            guard let resource = SessionResource(json: json) else {
                throw RemoteFailure.protocolError(
                    "The server's session resource cannot be read. Check that this is the app's server.")
            }
            return resource
        }
        throw RemoteFailure.protocolError("The server redirects in a cycle.")
    }

    private func send(_ request: Request, to resource: SessionResource) async throws -> Response {
        let text = request.json.bytes
        let sending = Duration.seconds(1) * (text.count / Self.leastBytesPerSecond)
        var request = SessionRequest(
            OwnTarget.target(of: resource.apiURL, for: session.server), method: .post,
            headerFields: [.contentType: "application/json", .accept: "application/json"],
            body: text, attempts: 1, isRepeatable: true)
        request.headTimeout += sending
        request.deadline += sending
        let answer = try await translatingErrors { try await session.send(request) }
        let (head, body) = (answer.head, answer.body)
        try Self.check(head, body)
        // A refusal nests a row one object deeper than the request.
        guard let json = try? JSON(parsing: body, maxDepth: RowSync.Limit.jsonDepth + 8),
            let response = Response(json: json)
        else {
            throw RemoteFailure.unreachable("unreadable answer")
        }
        if response.sessionState != resource.state { connection.withLock { $0 = nil } }
        return response
    }

    private static func check(_ head: HTTPResponse, _ body: [UInt8]) throws {
        if let failure = AnswerClass.failure(
            status: head.status.code, retryAfter: head.headerFields[.retryAfter], date: head.headerFields[.date],
            body: body)
        {
            throw failure
        }
    }

    private func translatingErrors<T>(_ work: () async throws -> T) async throws -> T {
        do { return try await work() } catch let error as RemoteFailure { throw error } catch let error
            as CancellationError
        {
            throw error
        } catch { throw AnswerClass.failure(error) }
    }
}
