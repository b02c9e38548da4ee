// This source file is part of the Optimist open source project, under the MIT licence.

import TestForm
import Testing

@testable import Optimist

/// Checks that rows which move between spaces follow the law of a row: the table shows the server's row merged with the
/// user's edit, in the one space where the server has the row or where the user's unsent move puts it.
@Suite(.timeLimit(.minutes(20)))
struct MoveLawTests {
    @Test(arguments: MoveCase.all)
    func `a row is in the space that its own space or the user's move names`(of move: MoveCase) {
        for edits in move.edits {
            let (before, after) = move.run(edits)
            let expected = move.expected(after: before)
            #expect(after.said == expected.said)
            #expect(after.unsent == expected.unsent)
            #expect(after.shows == expected.shows)
        }
    }

    // MARK: - Worlds

    @Test func `moves, edits and deletions of several devices end in one space with all values`() {
        for seed in 0..<TestForm.of(short: 200, full: 800, soak: 20_000) {
            var world = MoveModel.World(seed: seed)
            #expect(world.run() == nil, "seed \(seed)")
        }
    }

    @Test(arguments: MoveModel.Fault.allCases)
    func `the worlds notice a fault`(_ fault: MoveModel.Fault) {
        let seed = (0..<400).first { seed in
            var world = MoveModel.World(seed: seed, fault: fault)
            return world.run() != nil
        }
        #expect(seed != nil)
    }
}
