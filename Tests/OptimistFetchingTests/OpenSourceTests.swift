// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistFetching
import OptimistLoading
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// A source without a session, for any host.
@Suite(.timeLimit(.minutes(20)))
struct OpenSourceTests {
    /// The servers' answers, in turn.
    private typealias Answer = @Sendable (TransportRequest) throws -> TransportResponse

    /// A loader of texts by their addresses, without a session, and its transport.
    private func openLoader(_ answers: [Answer]) -> (Loader<String, String>, InMemoryTransport) {
        let rest = Mutex(answers[...])
        let transport = InMemoryTransport { request in
            guard let answer = rest.withLock({ $0.popFirst() }) else { return TransportResponse(.internalServerError) }
            return try answer(request)
        }
        let source = HTTPSource(transport)
        let loader = Loader<String, String> { fetch in
            try await source.fetch(fetch, from: fetch.key) { String(decoding: $0, as: UTF8.self) }
        }
        return (loader, transport)
    }

    @Test func `C11: without a session any host is asked, without a credential, and redirects are followed`()
        async throws
    {
        let (loader, transport) = openLoader([
            { _ in TransportResponse(.movedPermanently, headerFields: [.location: "https://edge.example.net/b?c=1"]) },
            { _ in TransportResponse(.found, headerFields: [.location: "/d"]) },
            { _ in TransportResponse(.ok, "hello") },
        ])
        #expect(try await loader.value(for: "https://cdn.example.com/a") == "hello")
        let asked = transport.requests.map { "\($0.head.authority ?? "")\($0.head.path ?? "")" }
        #expect(asked == ["cdn.example.com/a", "edge.example.net/b?c=1", "edge.example.net/d"])
        #expect(transport.requests.allSatisfy { $0.head.headerFields[.authorization] == nil })
    }

    @Test func `C11: a redirect to plain http or a redirect loop is an error`()
        async throws
    {
        let (loader, transport) = openLoader([
            { _ in TransportResponse(.found, headerFields: [.location: "http://cdn.example.com/a"]) }
        ])
        let isBadRedirect: @Sendable (any Error) -> Bool = { ($0 as? OptimistError)?.code == .badRedirect }
        await #expect { try await loader.value(for: "https://cdn.example.com/a") } throws: { isBadRedirect($0) }
        #expect(transport.requests.count == 1)
        let (circle, asked) = openLoader(
            Array(repeating: { _ in TransportResponse(.found, headerFields: [.location: "/a"]) }, count: 10))
        await #expect { try await circle.value(for: "https://cdn.example.com/a") } throws: { isBadRedirect($0) }
        #expect(asked.requests.count == 6)
        await #expect { try await loader.value(for: "/a") } throws: { ($0 as? OptimistError)?.code == .noAddress }
    }

    @Test(arguments: [
        "http+unix://%2Ftmp%2Fsocket:80/", "http://127.0.0.1:99999/", "file:///etc/hosts", "http://127.0.0.1:65536/a",
    ])
    func `C11 neither a key nor a redirect leads to a scheme other than http and https`(address: String) async {
        let (loader, transport) = openLoader([{ _ in TransportResponse(.found, headerFields: [.location: address]) }])
        await #expect { try await loader.value(for: address) } throws: { ($0 as? OptimistError)?.code == .noAddress }
        #expect(transport.requests.isEmpty)
        await #expect { try await loader.value(for: "http://cdn.example.com/a") } throws: {
            ($0 as? OptimistError)?.code == .badRedirect
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `C11 a picture uses a connection for long transfers, not one for calls`() async throws {
        let (loader, transport) = openLoader([{ _ in TransportResponse(.ok, "hello") }])
        #expect(try await loader.value(for: "https://cdn.example.com/a%20b c") == "hello")
        #expect(transport.requests.map(\.isLong) == [true])
        #expect(transport.requests.map(\.head.path) == ["/a%20b%20c"])
    }
}
