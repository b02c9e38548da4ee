// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistTesting
@_spi(Internals) @testable import OptimistWire

/// The contents of an invitation, before a person joins.
@Suite(.timeLimit(.minutes(20)))
struct InvitationPreviewTests {
    private static let link = InvitationLink(space: UUID(), secret: .random())

    @Test func `P7 a link shows its label, role, inviter and days, while it works`()
        async throws
    {
        let time = Mutexed<Int64>(1_790_000_000)
        let server = InMemoryServer(
            schema: .sharedLists, now: { Date(timeIntervalSince1970: Double(time.value)) })
        let (ann, bob) = (try ListPhone(server, "ann"), try ListPhone(server, "bob"))
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let invitation = try await ann.store.invite(to: home, as: .reader, label: "Groceries")
        let link = try #require(invitation.link)
        #expect(try await bob.preview(of: link) == .notValid)
        try await ann.sync()
        let preview = InvitationPreview(label: "Groceries", role: .reader, inviter: "Ann", daysLeft: 7)
        #expect(try await bob.preview(of: link) == .open(preview))
        #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
        #expect(try await bob.preview(of: InvitationLink(space: home, secret: .random())) == .notValid)
        #expect(try await bob.preview(of: InvitationLink(space: UUID(), secret: link.secret)) == .notValid)
        bob.remote.isOnline = false
        #expect(try await bob.preview(of: link) == .unknown)
        bob.remote.isOnline = true
        server.setOutage(.unreachable("HTTP 503"))
        #expect(try await bob.preview(of: link) == .unknown)
        server.setOutage(nil)
        time.value += 8 * 24 * 3600
        #expect(try await bob.preview(of: link) == .notValid)
    }

    private func ask(
        _ answer: @escaping @Sendable () throws -> (HTTPResponse.Status, String, String)
    ) async throws -> (check: InvitationCheck, request: TransportRequest?) {
        let transport = InMemoryTransport { _ in
            let (status, type, body) = try answer()
            return TransportResponse(status, body, headerFields: [.contentType: type])
        }
        let server = try #require(URL(string: "http://localhost:8080"))
        let session = Session(server: server, transport: transport, credentials: .inMemory)
        let phone = try Phone()
        let engine = SyncEngine(store: phone.store, session: session, reachability: ManualReachability())
        let check = try await engine.preview(of: Self.link)
        return (check, transport.requests.first)
    }

    @Test func `P7 a person who is signed out asks without a token, and the secret is only in the body`() async throws {
        let (check, request) = try await ask {
            (.ok, "application/json", #"{"label":"Groceries","role":"writer","inviter":null,"daysLeft":2}"#)
        }
        #expect(
            check == .open(InvitationPreview(label: "Groceries", role: .writer, inviter: nil, daysLeft: 2)))
        let sent = try #require(request)
        #expect(sent.head.method == .post && sent.head.path == "/spaces/invitation")
        #expect(sent.head.headerFields[.authorization] == nil)
        let body: JSON = ["space": .string(Self.link.space.wire), "secret": .string(Self.link.secret.text)]
        #expect(try JSON(parsing: sent.body) == body)
    }

    @Test func `P7 only an answer of the server makes a link invalid`() async throws {
        let problem = "application/problem+json"
        #expect(try await ask { (.notFound, problem, #"{"type":"about:blank","status":404}"#) }.check == .notValid)
        #expect(try await ask { (.notFound, "text/html", "<p>Sign in to the hotel's network</p>") }.check == .unknown)
        #expect(try await ask { (.ok, "text/html", "<p>Sign in</p>") }.check == .unknown)
        #expect(try await ask { (.ok, "application/json", #"{"label":"Groceries"}"#) }.check == .unknown)
        #expect(try await ask { (.tooManyRequests, problem, "{}") }.check == .unknown)
        #expect(try await ask { throw TransportError(.unreachable, .notSent) }.check == .unknown)
    }

    @Test func `a remote without previews leaves a link unknown`() async throws {
        let phone = try Phone()
        let engine = SyncEngine(store: phone.store, remote: FakeBackend(), reachability: ManualReachability())
        #expect(try await engine.preview(of: Self.link) == .unknown)
    }
}
