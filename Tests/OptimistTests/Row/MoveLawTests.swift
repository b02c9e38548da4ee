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

    // MARK: - Restored servers

    /// Devices with different knowledge of lost moves and deletions race, and neither side can see the whole history.
    /// Fixtures/RowLaw.md has the counts.
    private static let limits: Set<MoveModel.Difference> = [.pending, .twice, .shown, .dropped, .revived]

    @Test func `after a restore at most one world in a hundred does not become whole`() {
        let seeds = TestForm.of(short: 200, full: 500, soak: 3_000)
        var differences: [MoveModel.Difference] = []
        for seed in 0..<seeds {
            var world = MoveModel.World(seed: seed, goesBack: true)
            if let difference = world.run() { differences.append(difference) }
        }
        #expect(differences.count <= seeds / 100)
        #expect(Set(differences).isSubset(of: Self.limits))
    }

    @Test(arguments: [
        MoveModel.Repairs(joinsRemnants: false), MoveModel.Repairs(deletionsFollow: false),
    ])
    func `each repair makes a world whole that the other does not`(_ repairs: MoveModel.Repairs) {
        let seed = (0..<200).first { seed in
            var without = MoveModel.World(seed: seed, goesBack: true, repairs: repairs)
            var with = MoveModel.World(seed: seed, goesBack: true)
            return without.run() != nil && with.run() == nil
        }
        #expect(seed != nil)
    }
}
