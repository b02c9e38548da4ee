// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import Optimist

/// Which spaces the engine asks next, without a store or a server.
struct SpacePlanTests {
    private func progress(_ table: String, _ cursor: String?, at: String? = nil) -> TableProgress {
        var progress = TableProgress(table: table)
        (progress.cursor, progress.isComplete, progress.at) = (cursor, cursor != nil, at)
        return progress
    }

    private func space(_ scope: Int64, _ cursor: String?, tables: Int = 2) -> SpacePlan.Space {
        SpacePlan.Space(
            scope: scope, id: "space\(scope)", tableProgress: (0..<tables).map { progress("t\($0)", cursor) })
    }

    private func scopes(_ steps: SpacePlan.Steps) -> [Int64] { steps.asks.map(\.scope) }

    @Test func `R6 new spaces and changed ones are asked, and the others are not`() {
        let spaces = [space(1, nil), space(2, "e.5"), space(3, "e.5")]
        #expect(spaces.map(\.cursor) == [nil, "e.5", "e.5"])
        var plan = SpacePlan(spaces, changed: ["space3"])
        let steps = plan.next(spaces)
        #expect(scopes(steps) == [1, 3])
        #expect(steps.asks.map(\.cursor) == [nil, "e.5"])
    }

    @Test func `R6 a request has as many spaces as fit 64 calls, and at least one`() {
        let spaces = (1...100).map { space($0, nil, tables: 5) }
        var plan = SpacePlan(spaces, changed: [])
        #expect(scopes(plan.next(spaces)) == Array(1...12))
        let wide = [space(1, nil, tables: 70), space(2, nil, tables: 70)]
        plan = SpacePlan(wide, changed: [])
        #expect(scopes(plan.next(wide)) == [1])
    }

    @Test func `R6 a space is asked until the last page of all its tables`() {
        var spaces = [space(1, "e.5"), space(2, "e.5")]
        spaces[1].tableProgress[0] = progress("t0", "e.3")
        var plan = SpacePlan(spaces, changed: ["space1"])
        let steps = plan.next(spaces)
        #expect(steps.asks.map(\.tables) == [["t0", "t1"], ["t0"]])
        plan.took(steps.asks[0], hasMore: true)
        plan.took(steps.asks[1], hasMore: false)
        spaces[1].tableProgress[0] = progress("t0", "e.5")
        let more = plan.next(spaces)
        #expect(more.asks.map(\.tables) == [["t0", "t1"], ["t0", "t1"]])
        for ask in more.asks { plan.took(ask, hasMore: false) }
        #expect(plan.next(spaces) == SpacePlan.Steps())
        #expect(plan.due.isEmpty)
        #expect(!plan.isTroubled)
    }

    @Test func `L6 missing rows are settled before a space is complete, unless the app has yet to decide`() {
        var spaces = [space(1, "e.5")]
        spaces[0].tableProgress[0] = progress("t0", "e.5", at: "e.5")
        #expect(spaces[0].cursor == nil)
        var plan = SpacePlan(spaces, changed: [])
        #expect(plan.next(spaces) == SpacePlan.Steps(removals: [1]))
        spaces[0].isAsking = true
        #expect(spaces[0].cursor == "e.5")
        #expect(scopes(plan.next(spaces)) == [1])
    }

    @Test func `P11 a space that fails is asked once more, and then the plan is over without it`() {
        let spaces = [space(1, "e.5"), space(2, "e.5")]
        var plan = SpacePlan(spaces, changed: ["space1", "space2"])
        let first = plan.next(spaces)
        plan.failed(1)
        plan.took(first.asks[1], hasMore: false)
        #expect(scopes(plan.next(spaces)) == [1])
        #expect(!plan.isTroubled)
        plan.failed(1)
        #expect(plan.next(spaces) == SpacePlan.Steps())
        #expect(plan.isTroubled)
    }

    @Test func `P8 a space that the person has left is not asked again`() {
        let spaces = [space(1, nil), space(2, nil)]
        var plan = SpacePlan(spaces, changed: [])
        plan.drop(1)
        #expect(scopes(plan.next(spaces)) == [2])
        #expect(scopes(plan.next([spaces[0]])) == [])
        #expect(plan.due.isEmpty)
    }
}
