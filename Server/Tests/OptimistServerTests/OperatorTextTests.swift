// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@testable import OptimistServer

/// Texts of all kinds on their way to an operator: pages, `/health`, the log and the terminal.
@Suite(.timeLimit(.minutes(20)))
struct OperatorTextTests {
    private let site = Site()

    /// Every special scalar, and a random sample of all.
    private static func scalars(using random: inout SplitMix64) -> [Unicode.Scalar] {
        let all = (0...UInt32(0x10FFFF)).lazy.compactMap(Unicode.Scalar.init)
        let special = all.filter { $0.value < 0x3000 && ($0.value < 0x400 || $0.controls || !$0.isVisible) }
        let drawn = (0..<TestForm.of(short: 200, full: 5_000, soak: 200_000)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
        }
        return Array(special) + drawn
    }

    private static let marks = ["", "\u{301}", "\u{20E3}", "\u{200D}", "\u{FE0F}", "\u{E0020}", "\r", "\u{1F1E6}"]
    private static let markup = [
        "<script>alert(1)</script>", "\"onload=\"x", "'><b>", "&lt;", "</h3>", "]]>", "<!--", "\u{1b}[2J\u{9b}31m",
        "\n12:00 error x: forged=1", "\u{202e}txt.exe", "a=b c",
    ]

    /// Markup and single characters, with combining marks around them.
    private static func texts(seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        let joined = marks.flatMap { mark in markup.map { "x\(mark)\($0)\(mark)" } }
        return joined + scalars(using: &random).map { "a\($0)<\($0)\"" }
    }

    private static func tags(_ html: String) -> [String] {
        var (tags, rest): ([String], Substring.UnicodeScalarView) = ([], html[...].unicodeScalars)
        while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
            tags.append(String(rest[start...end]))
            rest = rest[rest.index(after: end)...]
        }
        return tags
    }

    @Test func `A7 O2 no text can become markup, begin a line or control a terminal`() throws {
        for text in Self.texts(seed: 1) {
            let html = text.inHTML
            #expect(
                !html.unicodeScalars.contains { "<>\"'".unicodeScalars.contains($0) || $0.controls },
                "\(text.debugDescription)")
            let shown = text.shown()
            #expect(OutsideText.isClean(shown))
            #expect(
                try JSON(parsing: JSON.string(text).description.shown().utf8).string?.utf8.elementsEqual(text.utf8)
                    == true)
            let field = text.inLogField
            #expect(field == text || (field.hasPrefix("\"") && field.hasSuffix("\"")))
            #expect(OutsideText.isClean(field))
            if field == text { #expect(!text.contains("=") && !text.contains(" ")) }
        }
    }

    private static func summary(_ text: String) -> HealthSummary {
        var sums = HealthSums(apps: [text], app: text)
        sums.versions = [
            HealthSums.Version(
                version: text, people: 2, crashedPeople: 1, launches: 3, abruptEnds: 1, unsentEnds: 0, crashes: 1,
                hangs: 0,
                firstDay: 1, lastDay: 2)
        ]
        let frame = CrashSignature.Frame(image: "ab", offset: 1, function: text, file: text, line: 1)
        let signature = CrashSignature(kind: "x" + text, message: text, frames: [frame])
        sums.signatures = [
            HealthSums.Signature(
                id: "k", content: signature.json.description, people: 1, count: 1, unsent: 0, firstDay: 1, lastDay: 2,
                versions: [text])
        ]
        return HealthSummary(sums)
    }

    @Test func `A7 the health page has the same elements whatever its texts are`() {
        let plain = Self.tags(HealthPage(summary: Self.summary("plain")).html(json: "health.json?app=plain"))
        for text in Self.texts(seed: 2) {
            // Texts that a report may not contain are not read back, and the page then lists no signature.
            let summary = Self.summary(text)
            let tags = Self.tags(HealthPage(summary: summary).html(json: "health.json?app=plain"))
            if !summary.signatures.isEmpty { #expect(tags == plain, "\(text.debugDescription)") }
            #expect(!tags.contains { $0.contains("script") || $0.contains("onload") })
        }
    }

    @Test func `O2 texts from users and strangers reach the operator's pages unchanged or are refused`() async throws {
        var random = SplitMix64(seed: 3)
        let texts = Self.texts(seed: 3).shuffled(using: &random).prefix(TestForm.of(short: 40, full: 300, soak: 3_000))
        try await site.serving { configuration in
            configuration.adminPort = 0
            configuration.health = HealthSettings(app: "campus", burstPerAddress: 1_000_000)
            configuration.signInBurstPerAddress = 1_000_000
        } _: { server, users async throws in
            let admin = HTTPSide(base: "http://127.0.0.1:\(try #require(try await server.adminPort))")
            for (number, text) in texts.enumerated() {
                let entry: JSON = [
                    "email": .string("a\(number)@example.org"), "password": "correct horse",
                    "device": ["id": "d", "name": .string(text)],
                ]
                let answer = try await users.post("/auth/sign-up", entry)
                #expect(answer.status == (OutsideText.isClean(text) ? 201 : 400), "\(text.debugDescription)")
                let id = number + 1
                if answer.status == 201 {
                    let person = try Person(answer.json)
                    _ = try await server.call(
                        person, "todo/set", ["create": [RowKey.id(id): ["content": .string(text)]]])
                    let account = try await admin.get("/admin/api/accounts/\(person.account)")
                    #expect(
                        account.json["sessions"]?.array?.first?["device"]?.string?.utf8.elementsEqual(text.utf8) == true
                    )
                    let rows = try await admin.get("/admin/api/accounts/\(person.account)/rows?type=todo")
                    let column = rows.json["rows"]?.array?.first?["columns"]?.array?.first { $0["name"] == "content" }
                    #expect(column?["value"]?.string?.utf8.elementsEqual(text.utf8) == true)
                    #expect(
                        rows.headers["content-type"] == ["application/json"] || rows.headers["content-type"].count == 1)
                    #expect(rows.headers["x-content-type-options"] == ["nosniff"])
                }
                let report: JSON = [
                    "app": "campus", "install": .string("i\(number)"),
                    "totals": [
                        [
                            "version": .string(text), "build": "1", "day": 20_833, "launches": 1, "abruptEnds": 0,
                            "unsentEnds": 0, "crashes": 0, "hangs": 0, "signatures": [],
                        ]
                    ],
                ]
                #expect([200, 400].contains(try await users.post("/health/reports", report).status))
                let escaped = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let page = try await admin.get("/health?app=\(escaped)")
                #expect(page.status == (OutsideText.isClean(text) ? 200 : 400))
                #expect(!Self.tags(String(decoding: page.body, as: UTF8.self)).contains { $0.contains("script") })
            }
            let page = try await admin.get("/health")
            #expect(!Self.tags(String(decoding: page.body, as: UTF8.self)).contains { $0.contains("script") })
            #expect(page.headers["content-security-policy"].first?.contains("frame-ancestors 'none'") == true)
        }
    }
}
