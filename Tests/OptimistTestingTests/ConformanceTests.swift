// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import OptimistTesting

@Suite("The conformance kit", .timeLimit(.minutes(20)))
struct ConformanceTests {
    static let schema = Schema(
        id: "notes",
        types: [
            "note": TypeSchema(columns: [
                "text": ColumnSchema(.string, isRequired: true), "done": ColumnSchema(.bool),
                "likes": ColumnSchema(.counter),
            ]),
            "tag": TypeSchema(columns: ["name": ColumnSchema(.string, isRequired: true)]),
        ])

    static let tables = [
        RemoteConformance.Table("note", counters: ["likes"], refusedRow: { _ in ["text": .null] }) { random in
            ["text": .string("note \(random.next() % 5)"), "done": .bool(random.next() % 2 == 0)]
        },
        RemoteConformance.Table("tag") { random in ["name": .string("tag \(random.next() % 5)")] },
    ]

    private static let seeds: ClosedRange<UInt64> = 1...TestForm.of(short: 10, full: 100)

    private static func report(of fault: FaultyRemote.Fault?) async throws -> ConformanceReport {
        try await RemoteConformance(seeds: seeds, tables: tables) { _ in
            let (server, backend) = (InMemoryServer(schema: schema), FaultyRemote.Backend())
            return (0..<2).map { _ in
                let remote = InMemoryRemote(server)
                return fault.map { FaultyRemote(remote, $0, backend) } ?? remote as any Remote
            }
        }.run()
    }

    /// Expects that nearly every run finds the fault, and that nine in ten of these runs name its promise. In the other
    /// runs a consequence shows first: a page without a row looks like a partial transaction.
    private static func expect(_ fault: FaultyRemote.Fault, breaks promise: RemotePromise) async throws {
        let report = try await report(of: fault)
        let named = report.broken.count { $0.promise == promise }
        #expect(report.broken.count * 10 >= seeds.count * 8 && named * 10 >= report.broken.count * 9, "\(report)")
    }

    @Test func `B1 a correct remote passes, and every check was exercised`() async throws {
        let report = try await Self.report(of: nil)
        #expect(report.isSound, "\(report)")
        #expect(report.counts.worlds == Self.seeds.count)
        #expect(report.counts.repeats > 0 && report.counts.merges > 0 && report.counts.refusals > 0)
        #expect(report.counts.snapshotPages > 0)
    }

    @Test func `B1 a lost row is found`() async throws {
        try await Self.expect(.lostRow, breaks: .keepsRows)
    }

    @Test func `B1 a remote that counts a repeated push twice is found`() async throws {
        try await Self.expect(.doubledCounter, breaks: .countsOnce)
    }

    @Test func `B1 a page in the wrong order is found`() async throws {
        try await Self.expect(.reorderedPage, breaks: .ordersRows)
    }

    @Test func `B1 a cursor that goes back is found`() async throws {
        try await Self.expect(.cursorGoesBack, breaks: .advancesCursors)
    }

    @Test func `B1 a verdict for the wrong row is found`() async throws {
        try await Self.expect(.verdictForWrongRow, breaks: .judgesEachRow)
    }

    @Test func `B1 a page without the device's own changes is found`() async throws {
        try await Self.expect(.ownChangesLeftOut, breaks: .bringsOwnChanges)
    }

    @Test func `B1 a refusal without the server's row is found`() async throws {
        try await Self.expect(.refusalWithoutRow, breaks: .refusalsHaveTheRow)
    }

    @Test func `B1 a page older than an earlier answer is found`() async throws {
        try await Self.expect(.stalePage, breaks: .pullsSeeAnswers)
    }

    @Test func `B3 the article's remote passes`() async throws {
        let notes = RemoteConformance.Table(
            "note", counters: ["likes"], refusedRow: { _ in ["text": .null] }
        ) { random in ["text": .string("note \(random.next() % 5)"), "done": .bool(random.next() % 2 == 0)] }
        let report = try await RemoteConformance(seeds: Self.seeds, tables: [notes]) { _ in
            let board = Board()
            return [BoardRemote(board: board), BoardRemote(board: board)]
        }.run()
        #expect(report.isSound, "\(report)")
        #expect(report.counts.merges > 0 && report.counts.refusals > 0)
    }

    private static func clockless(
        _ fault: ClocklessBoard.Fault? = nil, merging: RemoteConformance.Merging = .byTransaction
    ) async throws -> ConformanceReport {
        let notes = RemoteConformance.Table("note", counters: ["likes"]) { random in
            ["text": .string("note \(random.next() % 5)"), "done": .bool(random.next() % 2 == 0)]
        }
        return try await RemoteConformance(seeds: seeds, merging: merging, tables: [notes]) { _ in
            let board = ClocklessBoard(fault)
            return [ClocklessRemote(board: board), ClocklessRemote(board: board)]
        }.run()
    }

    @Test func `B1 a remote without clocks passes if transactions decide, and fails if clocks should decide`()
        async throws
    {
        let report = try await Self.clockless()
        #expect(report.isSound, "\(report)")
        #expect(report.counts.worlds == Self.seeds.count && report.counts.repeats > 0)
        let byClock = try await Self.clockless(merging: .byClock)
        #expect(byClock.broken.contains { $0.promise == .mergesByClock || $0.promise == .judgesEachRow })
    }

    @Test(arguments: [ClocklessBoard.Fault.appliesRepetitions, .sendsClocks])
    func `B1 a remote that merges by transaction fails if it applies a repeated push or sends clocks`(
        fault: ClocklessBoard.Fault
    ) async throws {
        let report = try await Self.clockless(fault)
        #expect(report.broken.count { $0.promise == .mergesByTransaction } * 10 >= Self.seeds.count * 3, "\(report)")
    }

    @Test func `B2 the same seeds give the same report, whose text names the seed`() async throws {
        let reports = [try await Self.report(of: .doubledCounter), try await Self.report(of: .doubledCounter)]
        #expect(reports[0] == reports[1])
        let first = try #require(reports[0].broken.first)
        #expect("\(first)".hasPrefix("Seed \(first.seed), step \(first.step): \(first.promise.sentence) note:"))
        let again = try await RemoteConformance(seeds: first.seed...first.seed, tables: Self.tables) { _ in
            let (server, backend) = (InMemoryServer(schema: Self.schema), FaultyRemote.Backend())
            return (0..<2).map { _ in FaultyRemote(InMemoryRemote(server), .doubledCounter, backend) }
        }.run()
        #expect(again.broken == [first])
    }
}
