// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Edits of one device in a row whose server has given an earlier one of them a later clock.
@Suite(.timeLimit(.minutes(20)))
struct OwnClockTests {
    @Test func `S4 M4 a write after one that went on behind a clock which was reined in is another`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'one'") }
        let first = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'two'") }
        let reined = WriteClock(stamp: Stamp(milliseconds: 1_790_000_030_000), device: first.push.device)
        let won = RowPatch(clocks: ColumnClocks(common: nil, exceptions: ["text": reined]), values: ["text": "one"])
        try await desk.store.apply([.merged(seq: 2, won)], of: first)
        let second = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'three'") }
        try await desk.store.apply([.accepted(seq: 3)], of: second)
        #expect(try await desk.store.counts().pending == 1)
    }

    @Test func `S4 M4 an unsent edit stays later than an earlier one of its device that a page brings`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'one'") }
        let first = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'two'") }
        let reined = WriteClock(stamp: Stamp(milliseconds: 1_790_000_030_000), device: first.push.device)
        let patch = RowPatch(generation: 1, clocks: ColumnClocks(common: reined), seq: 2, values: ["text": "one"])
        try await desk.store.take(
            [RemotePage.Row(table: "step", id: step.wireID, content: .row(patch))], from: 1, to: 2)
        #expect(try await desk.store.steps() == ["two"])
        let second = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(try #require(second.push.rows.first?.change.updated?.clocks?["text"]) > reined)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'three'") }
        try await desk.store.apply([.accepted(seq: 3)], of: second)
        #expect(try await desk.store.counts().pending == 1, "the write after it is another")
    }

    @Test func `S4 M4 an edit that loses to an earlier one of its device is sent again, later`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'two'") }
        let first = try #require(try await desk.store.nextPush(PushLimit()))
        let reined = WriteClock(stamp: Stamp(milliseconds: 1_790_000_030_000), device: first.push.device)
        let won = RowPatch(clocks: ColumnClocks(common: nil, exceptions: ["text": reined]), values: ["text": "one"])
        try await desk.store.apply([.merged(seq: 2, won)], of: first)
        #expect(try await desk.store.steps() == ["two"])
        let second = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(try #require(second.push.rows.first?.change.updated?.clocks?["text"]) > reined)
        #expect(try #require(second.push.rows.first?.change.updated?.values["text"]) == "two")
    }
}
