// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistHealth

/// How often the ledger counts each event.
@Suite(.timeLimit(.minutes(20)))
struct LedgerTests {
    private func record(_ process: Int32, day: Double = 20_000, version: String = "1", unsent: Int = 0) -> LaunchRecord
    {
        LaunchRecord(
            id: UUID(), version: AppVersion(version, build: "1"), beganAt: day * 86_400 + Double(process),
            process: process, boot: "a", unsentRows: unsent)
    }

    private func report(_ process: Int32, _ id: String = "r", _ kind: CrashReport.Kind = .crash, kindText: String = "x")
        -> CrashReport
    {
        CrashReport(
            id: id, kind: kind, process: process, date: nil, signature: CrashSignature(kind: kindText))
    }

    @Test func `A2 repeated launches, ends and reports are counted once`() {
        var ledger = HealthLedger(installation: UUID())
        let (first, second) = (record(1, unsent: 2), record(2))
        for _ in 0..<3 {
            ledger.began(first)
            ledger.ended(first, before: second)
            _ = ledger.take(report(1), from: "0")
            ledger.began(second)
        }
        let totals = ledger.totals.map(\.totals)
        #expect(totals.map(\.launches) == [2])
        #expect(totals.map(\.abruptEnds) == [1])
        #expect(totals.map(\.crashes) == [1])
        #expect(totals.map(\.unsentEnds) == [1])
        #expect(totals[0].signatures.map(\.unsent) == [1])
    }

    @Test func `A2 a report that arrives after its kill was counted turns the kill into a crash`() {
        var ledger = HealthLedger(installation: UUID())
        let (first, second) = (record(1), record(2))
        ledger.ended(first, before: second)
        #expect(ledger.totals.map(\.totals.crashes) == [0])
        #expect(ledger.take(report(1), from: "0") == first.id)
        #expect(ledger.totals.map(\.totals.abruptEnds) == [1])
        #expect(ledger.totals.map(\.totals.crashes) == [1])
    }

    @Test func `A2 a crash counts for the version and day of its launch`() {
        var ledger = HealthLedger(installation: UUID())
        let (old, new) = (record(1, day: 20_000, version: "1.0.1"), record(1, day: 20_001, version: "1.0.2"))
        ledger.ended(old, before: new)
        ledger.ended(new, before: record(3, day: 20_002, version: "1.0.2"))
        let date = Date(timeIntervalSince1970: 20_000 * 86_400 + 50)
        _ = ledger.take(
            CrashReport(id: "r", kind: .crash, process: 1, date: date, signature: .forcedUnwrap), from: "0")
        #expect(ledger.totals.map(\.totals.crashes) == [1, 0])
        #expect(ledger.totals.map(\.totals.day) == [20_000, 20_001])
    }

    @Test func `A2 a hang is not an end, and a report of an unknown launch is not counted`() {
        var ledger = HealthLedger(installation: UUID())
        ledger.began(record(1))
        // A source may repeat a report.
        for _ in 0..<3 { #expect(ledger.take(report(1, "h", .hang), from: "0") == nil) }
        #expect(ledger.take(report(77), from: "0") == nil)
        #expect(ledger.totals.map(\.totals.hangs) == [1])
        #expect(ledger.totals.map(\.totals.abruptEnds) == [0])
    }

    @Test func `A3 the ledger stays bounded through a long time offline, and further signatures count as other`() {
        var ledger = HealthLedger(installation: UUID())
        for day in 0..<400 {
            let launch = record(1, day: Double(20_000 + day))
            ledger.ended(launch, before: record(2, day: Double(20_000 + day)))
            _ = ledger.take(report(1, "\(day)", kindText: "kind \(day)"), from: "0")
        }
        #expect(ledger.totals.count == HealthLedger.Limit.totals)
        #expect(ledger.totals.last?.totals.day == 20_399)
        for number in 0..<400 {
            let launch = record(9, day: 20_399)
            ledger.ended(launch, before: record(2))
            _ = ledger.take(report(9, "n\(number)", kindText: "new \(number)"), from: "0")
        }
        let groups = Set(ledger.totals.flatMap { $0.totals.signatures.map(\.signature.group) })
        #expect(groups.count == HealthLedger.Limit.signatures)
        #expect(ledger.totals.last?.totals.signatures.last?.signature == .other)
        #expect(ledger.totals.last?.totals.crashes == 401)
    }

    @Test func `A3 totals with many signatures are split into parts that the server accepts`() throws {
        var totals = HealthTotals(version: "1", build: "1", day: 1, launches: 500, abruptEnds: 500, crashes: 500)
        let long = String(repeating: "x", count: 200)
        totals.signatures = (0..<500).map { number in
            SignatureTotal(signature: CrashSignature(kind: "\(number)", message: long), count: 1, unsent: 0)
        }
        let parcels = HealthParcels.pack([totals])
        #expect(parcels.count > 1)
        for parcel in parcels {
            let report = HealthReport(app: "a", install: "i", totals: parcel)
            #expect(report.json.bytes.count <= HealthReport.Limit.bytes)
            let read = try HealthReport(json: JSON(parsing: report.json.bytes))
            #expect(read == report)
        }
        #expect(Set(parcels.joined().flatMap(\.signatures)) == Set(totals.signatures))
    }

    @Test func `A4 the installation's name is a salted hash`() {
        let id = UUID()
        let name = InstallationName.of(id, salt: "a")
        #expect(name.count == 22 && !name.contains(id.uuidString))
        #expect(name == InstallationName.of(id, salt: "a") && name != InstallationName.of(id, salt: "b"))
    }
}
