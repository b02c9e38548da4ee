// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension OutboxTests {
    private static let (early, late): (Int64, Int64) = (1_789_000_000_000, 1_790_000_100_000)

    private func refused(_ row: RemotePage.Row? = nil) -> RemotePush.Verdict {
        var refusal = RemotePush.Refusal(code: "forbidden", message: "no")
        if case .row(let current)? = row?.content { refusal.current = current }
        return .rejected(refusal)
    }

    /// A row of the server's that is deleted here, or replaced, which is on its way.
    private func sentDelete(isReplaced: Bool = false) async throws -> (Store, Step, PushBatch) {
        let store = try Desk().store
        let step = Step(text: "First")
        try await store.take([.step(step, stamp: Self.early)], to: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM step") }
        if isReplaced { try await store.write { try Step(id: step.id, text: "Mine").insert($0) } }
        return (store, step, try #require(try await store.nextPush(PushLimit())))
    }

    @Test(arguments: [false, true])
    func `V3 M1 a refused delete brings back what a page has brought later`(isReplaced: Bool) async throws {
        let (store, step, batch) = try await sentDelete(isReplaced: isReplaced)
        try await store.take([.step(Step(id: step.id, text: "Renamed"), seq: 5, stamp: Self.late)], from: 1, to: 5)
        #expect(try await store.steps() == (isReplaced ? ["Mine"] : []))
        try await store.apply([refused(.step(step, stamp: Self.early))], of: batch)
        #expect(try await store.steps() == ["Renamed"])
        #expect(try await store.counts().pending == 0)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.entry(step)?.remote.seq == 5)
    }

    @Test func `V3 M1 a refused delete brings back what is later than what a page has brought`() async throws {
        let (store, step, batch) = try await sentDelete()
        try await store.take([.step(step, seq: 5, stamp: Self.early + 1)], from: 1, to: 5)
        let current = RemotePage.Row.step(Step(id: step.id, text: "Renamed"), seq: 7, stamp: Self.late)
        try await store.apply([refused(current)], of: batch)
        #expect(try await store.steps() == ["Renamed"])
        #expect(try await store.entry(step)?.remote.seq == 7)
    }

    @Test func `R2 M1 what a page has brought of a row that was deleted meanwhile goes when the server deletes it`()
        async throws
    {
        let (store, step, batch) = try await sentDelete()
        try await store.take([.step(Step(id: step.id, text: "Renamed"), seq: 5, stamp: Self.late)], from: 1, to: 5)
        try await store.apply([.accepted(seq: 6)], of: batch)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.entry(step)?.generation == 2)
    }

    @Test func `V3 M1 of a row that is refused, nothing of a former life stays that the refusal tells of`() async throws
    {
        let store = try Desk().store
        let former = Project(title: "Former")
        try await store.take([.project(former, stamp: Self.late)], to: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.write { try Project(id: former.id, title: "Mine").insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let theirs = RemotePage.Row.project(former, seq: 5, title: "Theirs", stamp: Self.early, generation: 3)
        try await store.take([theirs], from: 1, to: 5)
        try await store.apply([refused(.project(former, stamp: Self.late))], of: batch)
        #expect(try await store.projects() == ["Theirs"])
        #expect(try await store.counts().pending == 0)
    }

    @Test(arguments: [false, true])
    func `V3 M1 a refusal does not bring back what a page has said to be deleted since`(isReplaced: Bool) async throws {
        let (store, step, batch) = try await sentDelete(isReplaced: isReplaced)
        try await store.take([.gone("step", step.id, seq: 5)], from: 1, to: 5)
        try await store.apply([refused(.step(step, stamp: Self.early))], of: batch)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().pending == 0)
        #expect(try await store.entry(step)?.generation == 2)
        #expect(try await store.rejections().map { $0.mine["text"] } == (isReplaced ? ["Mine"] : []))
    }
}
