// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistProxy
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ProxyAdminTests {
    /// Sends one request, and returns the head and body of the answer as text.
    private func send(
        _ method: String, _ path: String, _ body: String = "", host: String = "127.0.0.1", origin: String? = nil,
        site: String? = nil, port: Int
    ) async throws -> String {
        let origin = (origin.map { "Origin: \($0)\r\n" } ?? "") + (site.map { "Sec-Fetch-Site: \($0)\r\n" } ?? "")
        let request = """
            \(method) \(path) HTTP/1.1\r\nHost: \(host):\(port)\r\n\(origin)Connection: close\r\n\
            Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
            """
        return String(decoding: try await exchange(Array(request.utf8), port: port), as: UTF8.self)
    }

    @Test func `conditions are read and changed over HTTP, and invalid input changes nothing`() async throws {
        try await withProxy(.threeG) { proxy, _ in
            let (ports, port) = AsyncStream.makeStream(of: Int.self)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await ProxyAdmin(proxy: proxy, port: 0).run { port.yield($0) }
                }
                let admin = try #require(await ports.first { _ in true })
                let before = try await send("GET", "/conditions", port: admin)
                #expect(before.contains("\"profile\" : \"3g\""))
                let after = try await send("PUT", "/conditions", #"{"lossPercent": 3, "latencyMs": 20}"#, port: admin)
                #expect(after.hasPrefix("HTTP/1.1 200") && !after.contains("profile"))
                #expect(proxy.conditions.lossPercent == 3 && proxy.conditions.latency == .milliseconds(20))
                let kept = proxy.conditions
                for nonsense in ["", "[]", #"{"profile": "5g"}"#, #"{"latencyMs": "long"}"#] {
                    let answer = try await send("PUT", "/conditions", nonsense, port: admin)
                    #expect(answer.hasPrefix("HTTP/1.1 400"))
                }
                #expect(proxy.conditions == kept)
                group.cancelAll()
            }
        }
    }

    @Test func `a foreign web page is refused, whatever host name it uses`() async throws {
        try await withProxy { proxy, _ in
            let (ports, port) = AsyncStream.makeStream(of: Int.self)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await ProxyAdmin(proxy: proxy, port: 0).run { port.yield($0) }
                }
                let admin = try #require(await ports.first { _ in true })
                for origin in ["http://example.com", "http://127.0.0.1:1", "null"] {
                    let answer = try await send("POST", "/reset", origin: origin, port: admin)
                    #expect(answer.hasPrefix("HTTP/1.1 403"))
                }
                #expect(try await send("GET", "/counters", host: "example.com", port: admin).hasPrefix("HTTP/1.1 403"))
                // Requests for another page's pictures or scripts arrive without an origin.
                for site in ["cross-site", "same-site"] {
                    let answer = try await send("GET", "/counters", site: site, port: admin)
                    #expect(answer.hasPrefix("HTTP/1.1 403"))
                }
                for site in ["same-origin", "none"] {
                    let answer = try await send("GET", "/counters", site: site, port: admin)
                    #expect(answer.hasPrefix("HTTP/1.1 200"))
                    #expect(answer.lowercased().contains("cross-origin-resource-policy: same-origin"))
                }
                let own = try await send(
                    "POST", "/reset", host: "localhost", origin: "http://localhost:\(admin)", port: admin)
                #expect(own.hasPrefix("HTTP/1.1 204"))
                group.cancelAll()
            }
        }
    }

    @Test func `a response is dropped on request over HTTP`() async throws {
        try await withProxy { proxy, _ in
            let (ports, port) = AsyncStream.makeStream(of: Int.self)
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await ProxyAdmin(proxy: proxy, port: 0).run { port.yield($0) }
                }
                let admin = try #require(await ports.first { _ in true })
                let answer = try await send("POST", "/drop-next-responses", #"{"count": 1}"#, port: admin)
                #expect(answer.hasPrefix("HTTP/1.1 204"))
                let lost = (try? await exchange([1], port: proxy.port)) ?? []
                #expect(lost.isEmpty)
                let counters = try await send("GET", "/counters", port: admin)
                #expect(counters.contains("\"droppedResponses\" : 1"))
                group.cancelAll()
            }
        }
    }
}
