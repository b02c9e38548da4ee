// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import TestForm
import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Compares the server with a model of its rows: moves, edits and deletes of any life, in groups, in random order.
@Suite(.timeLimit(.minutes(20)))
struct MoveWorldTests {
    private typealias Place = MoveStore.Place

    /// A row in one account.
    private struct Row: Equatable {
        var life: Int
        var first: Int
        var name: Int
        var counts: [String: Int] = [:]
        var movedTo: Place?

        var isAlive: Bool { life % 2 == 1 }
    }

    /// One list, and one to-do in it. Both have the same lives, so a to-do is alive where its list is.
    private struct Change {
        enum Kind {
            case edit, delete, move, moveListOnly

            static let drawn: [Self] = [.edit, .edit, .edit, .edit, .move, .move, .move, .moveListOnly, .delete]
        }

        var kind: Kind
        var at: Place
        var to: Place
        var life: Int
        var value: Int
        var device: String
    }

    private enum Verdict: Equatable {
        case done, gone
        case moved(Place)
        case behind, later
    }

    private struct Model {
        var rows: [Place: Row] = [:]

        mutating func apply(_ change: Change) -> Verdict {
            guard var row = rows[change.at] else { return .gone }
            let isOfRow = change.life >= row.first
            if !row.isAlive {
                if let place = row.movedTo, isOfRow { return .moved(place) }
                return change.kind == .delete ? .done : .gone
            }
            switch change.kind {
            case .edit:
                guard isOfRow else { return .later }
                row.name = max(row.name, change.value)
                row.counts[change.device] = max(row.counts[change.device] ?? 0, change.value)
                rows[change.at] = row
            case .delete:
                if !isOfRow { return .done }
                rows[change.at] = Row(life: row.life + 1, first: row.first, name: 0)
            case .moveListOnly: return .behind
            case .move:
                guard isOfRow else { return .behind }
                let left = row.life
                row.life = max(left, rows[change.to]?.life ?? 0) + 1
                row.life += 1 - row.life % 2
                rows[change.to] = row
                rows[change.at] = Row(life: left + 1, first: row.first, name: 0, movedTo: change.to)
            }
            return .done
        }
    }

    private static func change(using random: inout SplitMix64, at time: Int, _ model: Model) -> Change {
        let place = Place.allCases.randomElement(using: &random) ?? .own
        let others = Place.allCases.filter { $0 != place }
        let known = model.rows[place].map { $0.life - (1 - $0.life % 2) } ?? 1
        let kind = Change.Kind.drawn.randomElement(using: &random) ?? .edit
        return Change(
            // A delete of a list alone would be remembered.
            kind: kind == .delete && model.rows[place] == nil ? .edit : kind, at: place,
            to: others.randomElement(using: &random) ?? .a,
            // Any life that the server has had.
            life: max(1, known - 2 * [0, 0, 0, 1, 2].randomElement(using: &random, default: 0)), value: time,
            device: ["deviceAA", "deviceBB"].randomElement(using: &random) ?? "")
    }

    private static func operations(_ change: Change) -> [(RowOperation, Place)] {
        let clock = WriteClock.at(Int64(change.value), change.device)
        switch change.kind {
        case .edit:
            let values: JSONObject = [
                "name": .string("\(change.value)"), "likes": ["@total": .int(Int64(change.value))],
            ]
            return [(.update(.list, values, at: clock, generation: change.life), change.at)]
        case .delete:
            return [(.destroy(.list, at: clock, generation: change.life + 1), change.at)]
        case .move, .moveListOnly:
            let home: JSONObject = ["space": change.to.space]
            let list = RowOperation.copy(
                .list, from: change.at, home, at: Int64(change.value), life: change.life)
            let todo = RowOperation.copy(.todo, from: change.at, life: change.life)
            return [(list, change.to)] + (change.kind == .move ? [(todo, change.to)] : [])
        }
    }

    private func verdict(_ evaluation: SetEvaluation) -> Verdict {
        switch evaluation.verdicts[0] {
        case .gone(let end):
            end?.movedTo.flatMap { Place(account: $0.account) }.map(Verdict.moved) ?? .gone
        case .accepted(let won):
            won.map { $0.firstLife == nil && $0.generation ?? 1 > 1 } == true ? .later : .done
        case .refused(let error): error.type == "notFound" ? .gone : .behind
        case .mergedInto: .behind
        }
    }

    @Test func `P2 in random worlds a row is alive in at most one account, with the model's values`() throws {
        for seed in 0..<TestForm.of(short: 20, full: 200, soak: 5_000) {
            var random = SplitMix64(seed: UInt64(seed))
            var (store, model) = (MoveStore(), Model())
            _ = try store.push([
                (.create(.list, ["name": "0", "space": Place.a.space], at: .at(0)), .a),
                (.create(.todo, ["content": "t", "list": .string(RowKey.list.id)], at: .at(0)), .a),
            ])
            model.rows[.a] = Row(life: 1, first: 1, name: 0)
            for time in 1...40 {
                let change = Self.change(using: &random, at: time, model)
                let before = model
                let expected = model.apply(change)
                let evaluation = try store.push(
                    Self.operations(change), groups: [[.list, .todo]], device: change.device)
                #expect(verdict(evaluation) == expected, "seed \(seed), \(change) after \(before)")
                try check(store, model, "seed \(seed), \(change)")
            }
        }
    }

    private func check(_ store: MoveStore, _ model: Model, _ comment: Comment) throws {
        for place in Place.allCases {
            let (stored, row) = (store[.list, place], model.rows[place])
            #expect(stored?.row.generation == row?.life, comment)
            #expect(stored?.memory.movedTo.flatMap { Place(account: $0.account) } == row?.movedTo, comment)
            #expect((store[.todo, place]?.row.isAlive == true) == (row?.isAlive == true), comment)
            guard let stored, let row, row.isAlive else { continue }
            #expect(stored.memory.firstLife ?? stored.row.generation == row.first, comment)
            #expect(stored.row.cells["name"]?.value == .string("\(row.name)"), comment)
            #expect(stored.row.sum(of: "likes") == Int64(row.counts.values.reduce(0, +)), comment)
        }
        #expect(store.places(of: .list).count <= 1, comment)
    }
}

extension Array {
    fileprivate func randomElement(using random: inout SplitMix64, default value: Element) -> Element {
        randomElement(using: &random) ?? value
    }
}
