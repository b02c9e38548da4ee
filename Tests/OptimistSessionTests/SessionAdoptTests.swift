// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// Signing in with tokens obtained elsewhere, and renewing them by another server's protocol.
@Suite(.timeLimit(.minutes(20)))
struct SessionAdoptTests {
    private static let ada = Account(id: "a1", email: "ada@example.com")

    private func tokens(_ name: String, server: URL = Bench.address) -> Credentials {
        Credentials(
            accessToken: "access-\(name)", refreshToken: "refresh-\(name)", account: Self.ada, server: server)
    }

    @Test func `adopted tokens sign in, are stored, and replace the previous user`() async throws {
        let bench = Bench()
        #expect(try await bench.session.send(SessionRequest("/rows")).status == .ok)
        try await bench.session.adopt(tokens("1"))
        #expect(bench.session.account == Self.ada)
        #expect(try bench.store.load()?.refreshToken.exposed == "refresh-1")
        let answer = try await bench.session.send(SessionRequest("/rows"))
        #expect(answer.status == .ok)
        // The previous session may be revoked at the same time.
        let rows = bench.transport.requests.filter { $0.head.path == "/rows" }
        #expect(rows.last?.head.headerFields[.authorization] == "Bearer access-1")
    }

    @Test func `another server's tokens are refused, and the user stays signed in`() async throws {
        let bench = Bench()
        #expect(try await bench.session.send(SessionRequest("/rows")).status == .ok)
        let before = try bench.store.load()
        let other = try #require(URL(string: "https://elsewhere.example"))
        await #expect { try await bench.session.adopt(tokens("9", server: other)) } throws: {
            ($0 as? OptimistError)?.code == .foreignOrigin
        }
        #expect(try bench.store.load() == before)
        #expect(bench.session.account != nil)
    }

    @Test func `a refused token is renewed once, by the other server's own protocol`() async throws {
        struct Renewal: Codable, Equatable {
            var device: String
            var token: String
        }
        let transport = InMemoryTransport.unhurried { request in
            guard request.head.path == "/renew" else {
                let isNew = request.head.headerFields[.authorization] == "Bearer access-2"
                return TransportResponse(isNew ? .ok : .unauthorized)
            }
            #expect(request.head.headerFields[.authorization] == nil)
            let sent = try JSONDecoder().decode(Renewal.self, from: Data(request.body))
            #expect(sent == Renewal(device: "d", token: "refresh-1"))
            return TransportResponse(.ok, #"{"jwt":"access-2"}"#)
        }
        let exchange = RefreshExchange { credentials in
            try SessionRequest("/renew", json: Renewal(device: "d", token: credentials.refreshToken.exposed))
        } grant: { body in
            (try? JSONDecoder().decode([String: String].self, from: Data(body)))?["jwt"].map {
                RefreshExchange.Grant(accessToken: Secret($0), lifetime: .seconds(900))
            }
        }
        let store = InMemoryCredentialStore()
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            configuration: SessionConfiguration(refresh: exchange), dependencies: Dependencies(clock: ManualClock()))
        try await session.adopt(tokens("1"))
        #expect(try await session.send(SessionRequest("/rows")).status == .ok)
        let kept = store.load()
        #expect(kept?.accessToken.exposed == "access-2" && kept?.refreshToken.exposed == "refresh-1")
        #expect(kept?.lifetime == .seconds(900))
        #expect(transport.requests.filter { $0.head.path == "/renew" }.count == 1)
    }

    // MARK: - Requests and answers

    @Test func `a path alone makes a request, and a value is sent as JSON`() throws {
        let get = SessionRequest("/rows")
        #expect(get.method == .get && get.target == "/rows" && get.body.isEmpty && get.isRepeatable)
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let post = try SessionRequest("/rows", json: ["at": date])
        #expect(post.method == .post && post.headerFields[.contentType] == "application/json" && !post.isRepeatable)
        #expect(String(decoding: post.body, as: UTF8.self) == #"{"at":"2027-01-15T08:00:00Z"}"#)
    }

    @Test func `whether a request is repeatable follows its method and key, unless it is set`() {
        var request = SessionRequest("/rows")
        request.method = .post
        #expect(!request.isRepeatable)
        request.idempotencyKey = "order-7"
        #expect(request.isRepeatable)
        request.isRepeatable = false
        #expect(!request.isRepeatable)
    }

    @Test func `an answer decodes as JSON, and a refusal keeps its body`() throws {
        let body = Array(#"{"at":"2027-01-15T08:00:00Z"}"#.utf8)
        let answer = SessionResponse(head: HTTPResponse(status: .ok), body: body)
        #expect(try answer.decode([String: Date].self) == ["at": Date(timeIntervalSince1970: 1_800_000_000)])
        #expect(throws: DecodingError.self) { try answer.decode([String].self) }
        let refused = SessionResponse(head: HTTPResponse(status: .notFound), body: body)
        let error = #expect(throws: RefusedAnswer.self) { try refused.decode([String: Date].self) }
        #expect(error?.body == body && error?.head.status == .notFound)
    }
}
