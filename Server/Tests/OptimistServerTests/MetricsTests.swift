// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
import Metrics
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The server's metrics and their Prometheus text.
@Suite(.timeLimit(.minutes(20)))
struct MetricsTests {
    let site = Site()

    /// Runs the server with its own metrics during `body`.
    private func serving(
        _ body: (OptimistServer, _ users: HTTPSide, _ operator: HTTPSide) async throws -> Void
    ) async throws {
        let metrics = PrometheusMetrics()
        let change: (inout ServerConfiguration) -> Void = { configuration in
            configuration.adminPort = 0
            configuration.metrics = metrics
        }
        try await site.serving(change: change) { server, users async throws in
            let port = try #require(try await server.adminPort)
            try await body(server, users, HTTPSide(base: "http://127.0.0.1:\(port)"))
        }
    }

    private func figures(_ admin: HTTPSide) async throws -> [String: Double] {
        let answer = try await admin.get("/metrics")
        #expect(answer.headers["content-type"] == ["text/plain; version=0.0.4; charset=utf-8"])
        return Self.read(String(decoding: answer.body, as: UTF8.self))
    }

    private static func read(_ text: String) -> [String: Double] {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Dictionary(
            lines.compactMap { line in
                guard let end = line.lastIndex(of: " ") else { return nil }
                return Double(line[line.index(after: end)...]).map { (String(line[..<end]), $0) }
            }, uniquingKeysWith: { $1 })
    }

    @Test func `requests, rows, refusals and sign-ins are counted, and gauges are read on request`()
        async throws
    {
        try await serving { server, users, admin in
            let person = try await users.signUp()
            _ = try await server.call(
                person,
                [
                    (
                        "todo/set",
                        [
                            "create": [
                                RowKey.id(1): ["content": "a", "@hlc": .string(WriteClock.at(0).description)],
                                RowKey.id(2): ["nonsense": 1, "@hlc": .string(WriteClock.at(0).description)],
                            ]
                        ]
                    )
                ], push: 1)
            _ = try await users.post("/auth/sign-in", JSON.entry("a@example.org", password: "wrong"))
            let found = try await figures(admin)
            #expect(found[#"optimist_http_requests_total{route="/auth/sign-up",method="POST",status="201"}"#] == 1)
            #expect(found[#"optimist_http_duration_seconds_count{route="/auth/sign-in",method="POST"}"#] == 1)
            #expect(found["optimist_pushes_total"] == 1 && found["optimist_rows_accepted_total"] == 1)
            #expect(found[#"optimist_rows_refused_total{code="schemaTooNew"}"#] == 1)
            #expect(found[#"optimist_security_events_total{event="sign_in_refused"}"#] == 1)
            #expect(found["optimist_streams_open"] == 0 && (found["optimist_database_bytes"] ?? 0) > 0)
            let overview = try await admin.get("/admin/api/overview").json
            #expect(overview["sinceStart"]?["rowsAccepted"] == 1 && overview["sinceStart"]?["rowsRefused"] == 1)
            let waits =
                SharedDatabase.isUsed ? "optimist_pool_wait_seconds_count" : "optimist_commit_wait_seconds_count"
            #expect((found[waits] ?? 0) > 0)
            let pool = found.keys.filter { $0.hasPrefix("optimist_pool_") }
            #expect(pool.isEmpty != SharedDatabase.isUsed, "\(pool)")
        }
    }

    @Test func `a push may report how long its oldest row has waited`() async throws {
        try await serving { server, _, admin in
            let person = try await server.signUp()
            var request = Request(methodCalls: [], device: "deviceAA", push: 1)
            request.oldestPendingSeconds = 100
            _ = try await server.routes.answer(request.json.bytes, of: person.account)
            request.push = 2
            request.oldestPendingSeconds = .max
            _ = try await server.routes.answer(request.json.bytes, of: person.account)
            let found = try await figures(admin)
            #expect(found[#"optimist_oldest_pending_seconds_bucket{le="64.0"}"#] == 0)
            #expect(found[#"optimist_oldest_pending_seconds_bucket{le="256.0"}"#] == 1)
            #expect(found["optimist_oldest_pending_seconds_count"] == 2)
        }
    }

    @Test func `O3 paths, methods, ids and codes invented by a client never become labels`() async throws {
        try await serving { server, users, admin in
            let person = try await users.signUp()
            let series = Set(try await figures(admin).keys)
            for number in 0..<20 {
                _ = try await users.get("/made/up/\(number)")
                _ = try await users.send("MADE\(number)", "/healthz")
                _ = try await users.send("DELETE", "/auth/sessions/\(number)", token: person.access)
                _ = try await server.call(
                    person, "todo/set",
                    ["create": [RowKey.id(number): ["made\(number)": 1]], "destroy": [.string("made\(number)")]])
            }
            let after = Set(try await figures(admin).keys).subtracting(series)
            #expect(!after.contains { $0.contains("made") || $0.contains("MADE") || $0.contains("up/") })
            #expect(after.count { $0.hasPrefix("optimist_http_requests") } <= 5, "\(after)")
        }
    }

    @Test func `O3 an app's own codes are counted as other`() {
        let backend = PrometheusMetrics()
        let metrics = ServerMetrics(backend)
        var report = SetReport(isPush: true)
        for number in 0..<1_000 { report.refused["made up \(number)\"\n"] = 1 }
        report.refused["tooLarge"] = 2
        metrics.carriedOut(report)
        let found = Self.read(backend.text)
        #expect(found[#"optimist_rows_refused_total{code="other"}"#] == 1_000)
        #expect(found[#"optimist_rows_refused_total{code="tooLarge"}"#] == 2)
        #expect(!backend.text.contains("made up"))
    }

    @Test func `histograms add up, labels are escaped, and names contain only what Prometheus allows`() {
        let backend = PrometheusMetrics()
        let timer = Timer(label: "a.b-c", dimensions: [("x.y", "q\"\\\n")], factory: backend)
        for milliseconds in [1, 3, 70_000] { timer.recordMilliseconds(milliseconds) }
        let text = backend.text
        #expect(text.contains("# TYPE a_b_c_seconds histogram\n"))
        #expect(text.contains(#"a_b_c_seconds_bucket{x_y="q\"\\\n",le="0.001"} 1"#))
        #expect(text.contains(#"a_b_c_seconds_bucket{x_y="q\"\\\n",le="60.0"} 2"#))
        #expect(text.contains(#"a_b_c_seconds_bucket{x_y="q\"\\\n",le="+Inf"} 3"#))
        #expect(text.contains(#"a_b_c_seconds_count{x_y="q\"\\\n"} 3"#) && text.hasSuffix("\n"))
    }

    @Test func `O3 a backend keeps a limited number of series, and reports how many it dropped`() {
        let backend = PrometheusMetrics()
        for number in 0..<(PrometheusMetrics.maxSeries + 7) {
            Counter(label: "many", dimensions: [("number", "\(number)")], factory: backend).increment()
        }
        let found = Self.read(backend.text)
        #expect(found.count == PrometheusMetrics.maxSeries + 1)
        #expect(found["optimist_metrics_dropped_total"] == 7)
    }

    @Test func `a process with another backend, or none, does not serve /metrics`() async throws {
        try await site.serving(change: { $0.adminPort = 0 }) { server, _ async throws in
            let port = try #require(try await server.adminPort)
            #expect(try await HTTPSide(base: "http://127.0.0.1:\(port)").get("/metrics").status == 404)
        }
    }
}
