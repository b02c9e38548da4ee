// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import Logging
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@testable import OptimistServer

/// `POST /health/reports`, and the figures made from the reports.
@Suite(.timeLimit(.minutes(20)))
struct HealthTests {
    let site = Site()
    /// The day of the site's clock.
    private let today = 20_833

    private func serving(
        _ settings: HealthSettings? = HealthSettings(app: "campus"),
        _ body: (OptimistServer, HTTPSide) async throws -> Void
    ) async throws {
        try await site.serving(change: { $0.health = settings }, body)
    }

    private func report(
        install: String = "i", version: String = "1.0.1", day: Int? = nil, launches: Int = 1, crashes: Int = 0,
        kind: String = "trap", count: Int? = nil
    ) -> HealthReport {
        let signatures = [SignatureTotal(signature: CrashSignature(kind: kind), count: count ?? crashes, unsent: 0)]
        return HealthReport(
            app: "campus", install: install,
            totals: [
                HealthTotals(
                    version: version, build: "1", day: day ?? today, launches: launches, abruptEnds: crashes,
                    crashes: crashes, signatures: crashes > 0 ? signatures : [])
            ])
    }

    private func summary(_ server: OptimistServer) async throws -> HealthSummary {
        HealthSummary(try await server.storage.health.sums(of: nil))
    }

    @Test
    func `A6 an address may add a limited number of signatures and totals a day, without affecting other addresses`()
        async throws
    {
        let settings = HealthSettings(
            app: "campus", signatures: 10, burstPerAddress: 1_000_000, totalsPerAddress: 20, signaturesPerAddress: 3)
        try await site.serving {
            $0.health = settings
            $0.isBehindProxy = true
        } _: { server, http async throws in
            func status(_ report: HealthReport, from address: String) async throws -> Int {
                try await http.post("/health/reports", report.json, forwardedFor: address).status
            }
            for number in 0..<20 {
                let invented = report(install: "x\(number)", crashes: 1, kind: "invented \(number)")
                #expect(try await status(invented, from: "192.0.2.1:\(1_000 + number)") == 200)
            }
            #expect(try await status(report(install: "x20"), from: "192.0.2.1") == 429)
            #expect(try await status(report(install: "y", crashes: 1, kind: "real"), from: "192.0.2.2") == 200)
            let found = try await summary(server)
            let kinds = found.signatures.map(\.signature.kind).sorted()
            #expect(kinds == ["invented 0", "invented 1", "invented 2", "other", "real"])
            let id = try #require(found.signatures.first { $0.signature.kind == "invented 1" }?.id)
            _ = try await server.carryOut(.removeSignature(app: "campus", id: id))
            await #expect(throws: OptimistError.self) {
                try await server.carryOut(.removeSignature(app: "campus", id: id))
            }
            #expect(try await summary(server).signatures.map(\.signature.kind).contains("invented 1") == false)
        }
    }

    @Test func `A2 whatever the network loses, repeats and delays, every figure is correct`() async throws {
        let installs = TestForm.of(short: 100, full: 1_000)
        let crashes = (0..<4).map { CrashSignature(kind: "trap \($0)", message: "") }
        let versions: [HealthFleet.Version] = [
            .init("1.0.1", crashRate: 0.3, killRate: 0.1, signatures: [HealthFleet.crashAtSignIn] + crashes),
            .init("1.0.2", crashRate: 0.02, killRate: 0.1, signatures: crashes),
            .init("1.0.10", crashRate: 0, killRate: 0.2),
        ]
        try await serving(HealthSettings(app: "campus", burstPerAddress: 1_000_000)) { server, http async throws in
            let fleet = HealthFleet(
                app: "campus", at: site.directory.appending(path: "fleet"),
                server: try #require(URL(string: http.base)), transport: AsyncHTTPClientTransport.shared, seed: 7,
                start: Date(timeIntervalSince1970: Double(today - 20) * 86_400))
            let truth = try await fleet.run(installs: installs, launches: 6, versions: versions)
            let found = try await summary(server)
            #expect(found.versions.map(\.version) == ["1.0.10", "1.0.2", "1.0.1"])
            for version in found.versions {
                let figures = try #require(truth.versions[version.version])
                #expect(version.people == figures.people.count)
                #expect(version.crashedPeople == figures.crashedPeople.count)
                #expect(version.launches == figures.launches)
                #expect(version.crashes == figures.crashes)
                #expect(version.kills == figures.kills)
                #expect(version.unsentEnds == figures.unsentEnds)
            }
            #expect(found.signatures.count == truth.signatures.count)
            for signature in found.signatures {
                let met = try #require(truth.signatures[signature.signature.group])
                #expect(signature.sums.people == met.people.count)
                #expect(signature.sums.count == met.count)
                #expect(signature.sums.unsent == met.unsent)
            }
        }
    }

    @Test func `A2 a late or repeated report changes nothing, and the largest value of each number is kept`()
        async throws
    {
        try await serving { server, http async throws in
            for launches in [3, 5, 4, 5, 1] {
                let answer = try await http.post(
                    "/health/reports", report(launches: launches, crashes: launches - 1).json)
                #expect(answer.status == 200 && answer.json == ["kept": 1, "ignored": 0])
            }
            let found = try await summary(server)
            #expect(found.versions.map(\.launches) == [5] && found.versions.map(\.crashes) == [4])
            #expect(found.signatures.map(\.sums.count) == [4] && found.signatures.map(\.sums.people) == [1])
        }
    }

    @Test func `A6 without the setting there is no health route, and another app's reports are refused`() async throws {
        try await serving(nil) { _, http async throws in
            #expect(try await http.post("/health/reports", report().json).status == 404)
        }
        try await serving(HealthSettings(app: "other")) { server, http async throws in
            #expect(try await http.post("/health/reports", report().json).status == 404)
            #expect(try await summary(server).versions.isEmpty)
        }
    }

    @Test func `A6 a report that is too large or invalid is refused as a unit`() async throws {
        try await serving { server, http async throws in
            let large = [UInt8](repeating: 0x20, count: HealthReport.Limit.bytes + 1)
            #expect(try await http.post("/health/reports", large).status == 413)
            #expect(try await http.post("/health/reports", Array("{".utf8)).status == 400)
            let good = try #require(report(launches: 2, crashes: 1).json.object)
            let totals = try #require(good["totals"]?.array?.first?.object)
            func changed(_ name: String, _ value: JSON?) -> JSON {
                var (report, one) = (good, totals)
                one[name] = value
                report["totals"] = [.object(one)]
                return .object(report)
            }
            let bad: [JSON] = [
                changed("launches", -1), changed("launches", 0), changed("launches", 1.5), changed("crashes", 3),
                changed("version", ""), changed("version", .string(String(repeating: "x", count: 65))),
                changed("version", "a\u{1B}[2J"), changed("version", "a\u{202E}b"), changed("day", "today"),
                changed("signatures", nil), changed("launches", 1_000_001),
                changed(
                    "signatures", [["signature": ["kind": "", "message": "", "frames": []], "count": 1, "unsent": 0]]),
                changed("signatures", [["signature": ["kind": "a", "frames": []], "count": 2, "unsent": 0]]),
                changed(
                    "signatures",
                    [
                        [
                            "signature": ["kind": "a", "frames": [["image": "<b>", "offset": 0]]], "count": 1,
                            "unsent": 0,
                        ]
                    ]),
            ]
            for json in bad { #expect(try await http.post("/health/reports", json).status == 400, "\(json)") }
            #expect(try await summary(server).versions.isEmpty)
            #expect(try await http.post("/health/reports", changed("news", 1)).status == 200)
        }
    }

    @Test func `A6 days too old or in the future are ignored, and all other days count`() async throws {
        try await serving { server, http async throws in
            var mixed = report()
            mixed.totals += [today - 91, today - 90, today + 2, today + 3, 0].flatMap { report(day: $0).totals }
            #expect(try await http.post("/health/reports", mixed.json).json == ["kept": 3, "ignored": 3])
            #expect(try await summary(server).versions.map(\.launches) == [3])
        }
    }

    @Test func `A6 the disk cannot be filled: a full day refuses new totals, and excess signatures count as other`()
        async throws
    {
        try await serving(HealthSettings(app: "campus", totalsPerDay: 2, signatures: 3)) { server, http async throws in
            for number in 0..<2 {
                #expect(try await http.post("/health/reports", report(install: "i\(number)").json).status == 200)
            }
            let refused = try await http.post("/health/reports", report(install: "i2").json)
            #expect(refused.status == 503 && !refused.headers["retry-after"].isEmpty)
            for number in 1...9 {
                let more = report(install: "i0", launches: 20, crashes: number, kind: "trap \(number)", count: 1)
                #expect(try await http.post("/health/reports", more.json).status == 200)
            }
            let found = try await summary(server)
            #expect(found.versions.map(\.people) == [2] && found.versions.map(\.crashes) == [9])
            #expect(found.signatures.map(\.signature.kind).sorted() == ["other", "trap 1", "trap 2", "trap 3"])
        }
    }

    @Test func `A6 one address may send a limited number of reports at once`() async throws {
        try await serving(HealthSettings(app: "campus", burstPerAddress: 3)) { _, http async throws in
            var statuses: [Int] = []
            for _ in 0..<5 { statuses.append(try await http.post("/health/reports", report().json).status) }
            #expect(statuses == [200, 200, 200, 429, 429])
        }
    }

    @Test func `A6 days past the limit are purged`() async throws {
        try await serving { server, http async throws in
            for day in [today, today - 80] {
                _ = try await http.post("/health/reports", report(day: day, launches: 2, crashes: 1).json)
            }
            let store = server.storage.health
            try await store.forget(before: today - 10)
            let found = try await summary(server)
            #expect(found.versions.map(\.launches) == [2] && found.signatures.map(\.sums.firstDay) == [today])
            try await store.forget(before: today + 1)
            #expect(try await store.sums(of: nil) == HealthSums(apps: [], app: nil))
        }
    }

    @Test func `A7 the page and its JSON show versions and signatures, and escape everything clients wrote`()
        async throws
    {
        try await serving { server, http async throws in
            let hostile = report(version: "<b>1&", launches: 4, crashes: 1, kind: "<script>alert(1)</script>")
            #expect(try await http.post("/health/reports", hostile.json).status == 200)
            try await withPage(of: server) { side async throws in
                let page = String(decoding: try await side.get("/health").body, as: UTF8.self)
                #expect(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("<b>"))
                #expect(page.contains("<svg") && page.contains("75.0 % (3 of 4)"))
                let json = try await side.get("/health.json?app=campus").json
                let truth = try await summary(server).json
                #expect(json == truth)
            }
        }
    }

    /// Runs the operator's page on its own port.
    private func withPage(of server: OptimistServer, _ body: @Sendable (HTTPSide) async throws -> Void) async throws {
        let router = Router()
        HealthRoutes(server).add(to: router)
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await application.run() }
        defer { running.cancel() }
        for await port in ports { return try await body(HTTPSide(base: "http://127.0.0.1:\(port)")) }
    }
}

/// Shares and their intervals.
struct ShareTests {
    /// > Source: Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
    @Test(arguments: [
        (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
    ])
    func `A7 the interval is Wilson's`(part: Int, whole: Int, low: Double, high: Double) {
        let interval = Share(part, of: whole).interval
        #expect(abs(interval.lowerBound - low) < 0.000_1 && abs(interval.upperBound - high) < 0.000_1)
    }

    @Test func `A7 an empty group's share is nil, and a share below 100 % is never rounded up to 100 %`() {
        #expect(Share(0, of: 0).value == nil && Share(0, of: 0).interval == 0...1)
        #expect(Share(9_999, of: 10_000).text == "99.9 % (9999 of 10000)")
        #expect(Share(3, of: 3).text == "100.0 % (3 of 3)")
    }
}
