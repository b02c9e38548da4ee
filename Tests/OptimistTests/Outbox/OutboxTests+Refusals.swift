// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension OutboxTests {
    @Test(arguments: [true, false])
    func `V3 R2 a row that is refused is there as another device has made it meanwhile`(isEdited: Bool) async throws {
        let store = try Desk().store
        let mine = Step(text: "Mine")
        try await store.write { try mine.insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.step(Step(id: mine.id, text: "Theirs"), stamp: 1_789_000_000_000)], to: 1)
        if isEdited { try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Mine again'") } }
        try await store.book([.rejected(Refusal(code: "forbidden", message: "no"))], of: batch)
        #expect(try await store.steps() == [isEdited ? "Mine again" : "Theirs"])
        #expect(try await store.counts().pending == (isEdited ? 1 : 0))
        #expect(try await store.rejections().map { $0.mine["text"] } == (isEdited ? [] : ["Mine"]))
        #expect(try await store.entry(mine)?.generation == 1)
    }
}
