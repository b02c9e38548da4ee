// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@testable import OptimistServer

/// A transaction's processor time grows with the steps that its meter counts.
@Suite(.timeLimit(.minutes(60)))
struct WorkProportionTests {
    private let place: StorePlace
    private let store: MeasuredStore
    private let service: JMAPService

    /// The factor by which the time of a step may differ between kinds of requests. Optimized builds, debug builds and
    /// busy machines differ by up to 13, and uncounted work would be off by hundreds.
    private static let factor = 30.0
    /// Shorter times are not meaningful.
    private static let least = Duration.milliseconds(4)

    init() async throws {
        place = try StorePlace()
        store = MeasuredStore(try await place.open(epoch: "e1", schema: WorkKinds.schema))
        let settings = ServingSettings(
            schema: WorkKinds.schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: .unlimited)
        service = JMAPService(store: store, settings: settings, now: { Date(timeIntervalSince1970: 1_800_000_000) })
    }

    /// Answers a request. Returns the work of its transaction.
    private func answer(_ drawn: WorkKinds.Drawn, push: Int64) async throws -> MeasuredStore.Work {
        let calls = drawn.calls.enumerated().map { index, call in
            var arguments = call.arguments.object ?? [:]
            arguments.append("accountId", .string(StoreFile.account))
            return Invocation(call.name, arguments, callID: "\(index)")
        }
        let request = Request(
            methodCalls: calls, device: drawn.isPush ? "deviceAA" : nil, push: drawn.isPush ? push : nil,
            schemaVersion: drawn.schemaVersion, groups: drawn.groups, origins: drawn.origins,
            createdIDs: drawn.createdIDs)
        _ = try await service.answer(request.json.bytes, as: .person(StoreFile.account))
        return store.take()
    }

    /// A step of an ordinary request on this machine, in microseconds: rows created and read.
    private func ordinaryStep(_ kinds: inout WorkKinds) async throws -> Double {
        var steps: [Double] = []
        for push in 1...5 {
            for kind in [WorkKinds.Kind.createSmall, .getIDs] {
                steps.append(try await answer(kinds.draw(kind, size: 50), push: Int64(push)).microsecondsPerStep)
            }
        }
        return steps.sorted()[steps.count / 2]
    }

    private func check(_ work: MeasuredStore.Work, of kind: WorkKinds.Kind, _ size: Int, by ordinary: Double) {
        let ratio = work.microsecondsPerStep / ordinary
        let words = "\(kind) \(size): \(work.steps) steps in \(work.time), \(ratio) times an ordinary step"
        if work.time > Self.least { #expect(ratio < Self.factor, "\(words)") }
        // A database server's processor time is not measured.
        if work.steps > 500, !SharedDatabase.isUsed { #expect(ratio > 1 / Self.factor, "\(words)") }
    }

    @Test func `S9 processor time per metered step is within a factor for each kind of call`() async throws {
        var kinds = WorkKinds(seed: 1)
        let ordinary = try await ordinaryStep(&kinds)
        for (number, kind) in WorkKinds.Kind.allCases.enumerated() {
            for size in [10, 60] {
                let work = try await answer(kinds.draw(kind, size: size), push: Int64(number + 10))
                check(work, of: kind, size, by: ordinary)
            }
        }
    }

    @Test(arguments: 1...TestForm.of(short: 2, full: 20, soak: 1_000))
    func `S9 processor time per metered step is within a factor for requests in any order`(
        seed: Int
    ) async throws {
        var kinds = WorkKinds(seed: UInt64(seed))
        let ordinary = try await ordinaryStep(&kinds)
        for number in 0..<40 {
            let kind = WorkKinds.Kind.allCases.randomElement(using: &kinds.chance) ?? .getAll
            let size = Int.random(in: 1...60, using: &kinds.chance)
            check(
                try await answer(kinds.draw(kind, size: size), push: Int64(number + 10)), of: kind, size, by: ordinary)
        }
    }
}
