// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Moves with everything that belongs to them: totals, references, groups, unique values and later edits.
@Suite(.timeLimit(.minutes(20)))
struct MoveTests {
    private typealias Place = MoveStore.Place

    private static func list(_ number: Int, in place: Place, at time: Int64 = 0, name: String = "l") -> RowOperation {
        .create(.list(number), ["name": .string(name), "space": place.space], at: .at(time))
    }

    private static func todo(_ number: Int, in list: Int) -> RowOperation {
        .create(.todo(number), ["content": "t", "list": .string(RowKey.list(list).id)], at: .at(0))
    }

    private static func move(
        _ number: Int, from source: Place, to place: Place, at time: Int64 = 20, life: Int = 1
    ) -> (RowOperation, Place) {
        (.copy(.list(number), from: source, ["space": place.space], at: time, life: life), place)
    }

    private static func follow(_ number: Int, from source: Place, to place: Place, life: Int = 1) -> (
        RowOperation, Place
    ) {
        (.copy(.todo(number), from: source, life: life), place)
    }

    private func types(_ evaluation: SetEvaluation) -> [String] { evaluation.verdicts.map { $0.error?.type ?? "" } }

    // MARK: - Values and totals

    @Test func `P4 a move carries every value with its clock, and the totals of all devices`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        for (number, device) in ["deviceBB", "deviceCC"].enumerated() {
            let likes: JSON = ["@total": .int(Int64(3 + number))]
            _ = try store.push([(.update(.list(1), ["likes": likes], at: .at(5, device)), .a)], device: device)
        }
        let edited: JSONObject = ["name": "mine", "likes": ["@total": 10], "space": Place.b.space]
        let moved = try store.push([(.copy(.list(1), from: .a, edited, at: 9), .b)])
        #expect(moved.verdicts[0].won == RowPatch(generation: 3).since(1))
        let row = try #require(store[.list(1), .b])
        #expect(row.row.cells == ["name": Cell("mine", .at(9)), "space": Cell(Place.b.space, .at(9))])
        #expect(row.row.sum(of: "likes") == 17)
        #expect(row.row.counters["likes"]?["deviceBB"] == CounterTotal(3, .at(5, "deviceBB")))
        #expect(store[.list(1), .a]?.row.cells == [:])
        #expect(store[.list(1), .a]?.row.counters == [:])
    }

    @Test func `P4 a later value of another device wins over the value that a move sends`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a, name: "later"), .a)])
        _ = try store.push([(.update(.list(1), ["name": "later"], at: .at(50, "deviceBB")), .a)])
        let sent: JSONObject = ["name": "mine", "space": Place.b.space]
        let won = try store.push([(.copy(.list(1), from: .a, sent, at: 20), .b)]).verdicts[0].won
        #expect(won?.values == ["name": "later"] && won?.generation == 3 && won?.firstLife == 1)
    }

    @Test func `P4 edits and counts of earlier lives continue in the destination, and a delete ends the row there`()
        throws
    {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        _ = try store.push([Self.move(1, from: .b, to: .c, at: 30, life: 3)])
        let edit = try store.push([(.update(.list(1), ["name": "late"], at: .at(40), generation: 1), .c)])
        #expect(edit.verdicts[0].won?.generation == 5 && edit.verdicts[0].won?.firstLife == 1)
        #expect(store.value(.list(1), "name", in: .c) == "late")
        for (place, life, next) in [(Place.a, 1, 3), (.b, 3, 5)] {
            let late = try store.push([(.destroy(.list(1), at: .at(50), generation: life + 1), place)])
            #expect(late.verdicts[0].error?.deletion?.movedTo?.generation == next)
            #expect(store.places(of: .list(1)) == [.c])
        }
        _ = try store.push([(.destroy(.list(1), at: .at(50), generation: 2), .c)])
        #expect(store.places(of: .list(1)) == [])
    }

    @Test func `S3 a repeated move is answered with the row's place, and changes nothing`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        let seq = store[.list(1), .a]?.seq
        let again = try store.push([Self.move(1, from: .a, to: .b)])
        let told = try #require(again.verdicts[0].error?.deletion)
        #expect(told.movedTo == RowDestination(account: Place.b.account, generation: 3, clock: .at(20)))
        #expect(told.generation == 2 && told.firstLife == 1 && told.seq == seq)
        #expect(again.changes.allSatisfy { $0.isEmpty })
    }

    @Test func `M4 a clock that ran ahead before the move is recognised after it`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        let ahead = RowOperation.update(.list(1), ["name": "ahead"], at: .at(10_000_000))
        _ = try store.push([(ahead, .a)])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        let clock = store[.list(1), .b]?.row.cells["name"]?.clock
        _ = try store.push([(ahead, .b)])
        #expect(store[.list(1), .b]?.row.cells["name"]?.clock == clock)
        #expect(store[.list(1), .a]?.memory.replaced == [:])
    }

    @Test func `M7 values that a device had not read stay unread after a move`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        var patch = RowPatch(clocks: ColumnClocks(common: .at(9, "deviceBB")), values: ["name": "blind"])
        patch.read = ColumnClocks()
        _ = try store.push([(RowOperation(key: .list(1), action: .update(patch)), .a)], device: "deviceBB")
        let moved = try store.push([Self.move(1, from: .a, to: .b)])
        #expect(store[.list(1), .b]?.memory.unread["name"] == [.at(0)])
        #expect(moved.departures[0]?.unread.isEmpty == true)
    }

    @Test func `P2 if edits win, a later edit brings a row back where it was deleted, and not where it has left`()
        throws
    {
        var store = MoveStore()
        store.schema.types["List"]?.editWins = true
        _ = try store.push([(Self.list(1, in: .a), .a)])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        let edit = RowOperation.update(.list(1), ["name": "late"], at: .at(9_000), generation: 1)
        #expect(try store.push([(edit, .a)]).verdicts[0].error?.deletion?.movedTo?.generation == 3)
        #expect(store.places(of: .list(1)) == [.b])
        _ = try store.push([(.destroy(.list(1), at: .at(8_000), generation: 4), .b)])
        #expect(store.places(of: .list(1)) == [])
        #expect(try store.push([(edit, .b)]).verdicts[0].won?.firstLife == 1)
        #expect(store.text(.list(1), in: .b) == "life 5 since 1: late")
        #expect(store.text(.list(1), in: .a) == "end 2 since 1, B 3 at 20")
    }

    @Test func `a row that returns has one life in each account`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .own), .own)])
        var at: Place = .own
        for (step, next) in [Place.a, .own, .b, .a].enumerated() {
            let life = 1 + 2 * step
            let evaluation = try store.push([Self.move(1, from: at, to: next, at: Int64(20 + step), life: life)])
            #expect(evaluation.verdicts[0].won?.generation == life + 2)
            #expect(store.places(of: .list(1)) == [next])
            at = next
        }
        #expect(store.text(.list(1), in: .own) == "end 6 since 1, B 7 at 22")
        #expect(store.text(.list(1), in: .b) == "end 8 since 1, A 9 at 23")
        #expect(store.text(.list(1), in: .a) == "life 9 since 1: l")
    }

    // MARK: - References

    @Test func `P3 a list moves with its to-dos or is behind, and no delete spreads from it`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a), (Self.todo(1, in: 1), .a), (Self.todo(2, in: 1), .a)])
        let group = [[RowKey.list(1), .todo(1), .todo(2)]]
        #expect(types(try store.push([Self.move(1, from: .a, to: .b)])) == ["behind"])
        let partly = try store.push(
            [Self.move(1, from: .a, to: .b), Self.follow(1, from: .a, to: .b)], groups: [[.list(1), .todo(1)]])
        #expect(types(partly) == ["behind", "groupFailed"])
        // A to-do cannot go alone either.
        let alone = try store.push([Self.follow(1, from: .a, to: .b)])
        #expect(types(alone) == ["blocked"] && alone.verdicts[0].error?.blockedBy == [RowKey.list(1).description])
        #expect(store.places(of: .todo(1)) == [.a])
        let whole = try store.push(
            [Self.follow(2, from: .a, to: .b), Self.move(1, from: .a, to: .b), Self.follow(1, from: .a, to: .b)],
            groups: group)
        #expect(types(whole) == ["", "", ""])
        for key in [RowKey.list(1), .todo(1), .todo(2)] { #expect(store.places(of: key) == [.b]) }
        #expect(store[.todo(1), .a]?.memory.movedTo?.clock == .at(0))
    }

    @Test func `P3 a to-do that refers to a list that has moved waits for a page, and is not deleted`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        // In the push of the move, and after it.
        let both = try store.push([(Self.todo(1, in: 1), .a), Self.move(1, from: .a, to: .b)])
        #expect(types(both) == ["blocked", "behind"])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        #expect(types(try store.push([(Self.todo(2, in: 1), .a)])) == ["blocked"])
        #expect(store[.todo(2), .a] == nil)
        #expect(types(try store.push([(Self.todo(2, in: 1), .b)])) == [""])
    }

    @Test func `P3 a to-do does not move to a list that is deleted or unknown there`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a), (Self.todo(1, in: 1), .a), (Self.list(2, in: .b), .b)])
        func move(to list: Int) -> (RowOperation, Place) {
            (.copy(.todo(1), from: .a, ["list": .string(RowKey.list(list).id)], at: 20), .b)
        }
        // The device may have the list in another push, so the answer names it.
        let unknown = try store.push([move(to: 3)])
        #expect(types(unknown) == ["blocked"])
        #expect(unknown.verdicts[0].error?.blockedBy == [RowKey.list(3).description])
        _ = try store.push([(.destroy(.list(2), at: .at(9), generation: 2), .b)])
        #expect(types(try store.push([move(to: 2)])) == ["blocked"])
        #expect(store.places(of: .todo(1)) == [.a])
        // A list that the same push makes there is enough.
        #expect(types(try store.push([move(to: 3), (Self.list(3, in: .b), .b)])) == ["", ""])
        #expect(store[.todo(1), .a]?.memory.movedTo?.clock == .at(20))
    }

    @Test func `a row below a list that could not move fails with it`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        _ = try store.push([Self.move(1, from: .a, to: .b)])
        _ = try store.push([Self.move(1, from: .b, to: .a, at: 30, life: 3)])
        // B knows the list as gone. The to-do refers to the life that this push brings, and that fails.
        let evaluation = try store.push([
            (.copy(.list(1), from: .a, ["space": Place.c.space], at: 40, life: 5), .b), (Self.todo(1, in: 1), .b),
        ])
        #expect(types(evaluation) == ["crossesSpaces", "blocked"])
    }

    // MARK: - Groups

    @Test func `P5 a group over several accounts moves, edits and deletes completely or not at all`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a), (Self.list(2, in: .b), .b), (Self.list(3, in: .own), .own)])
        let good: [(RowOperation, Place)] = [
            Self.move(1, from: .a, to: .c), Self.move(3, from: .own, to: .a),
            (.destroy(.list(2), at: .at(9), generation: 2), .b),
        ]
        let group = [[RowKey.list(1), .list(2), .list(3), .list(4)]]
        let bad = RowOperation.create(.list(4), ["name": 7, "space": Place.b.space], at: .at(9))
        let refused = try store.push(good + [(bad, .b)], groups: group)
        #expect(types(refused) == ["groupFailed", "groupFailed", "groupFailed", "invalidProperties"])
        #expect(refused.changes.allSatisfy { $0.isEmpty })
        // The device takes a move back with the row of the source.
        #expect(try store.push([Self.move(1, from: .a, to: .c), (bad, .b)], groups: group).departures == [:])
        #expect(types(try store.push(good, groups: group)) == ["", "", ""])
        #expect(store.places(of: .list(1)) == [.c] && store.places(of: .list(3)) == [.a])
        #expect(store.places(of: .list(2)) == [])
    }

    // MARK: - Unique values

    @Test(arguments: [UniqueIndex.OnCollision.reject, .mergeInto])
    func `M6 a row that moves is the newcomer at its destination`(policy: UniqueIndex.OnCollision) throws {
        var store = MoveStore()
        store.schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"], onCollision: policy)]
        _ = try store.push([
            (Self.list(1, in: .a, name: "same"), .a), (Self.list(2, in: .b, name: "same"), .b),
            (Self.list(3, in: .c, name: "other"), .c),
        ])
        let evaluation = try store.push([Self.move(1, from: .a, to: .b), Self.move(3, from: .c, to: .b)])
        guard policy == .mergeInto else {
            #expect(types(evaluation) == ["uniqueViolation", ""])
            #expect(evaluation.verdicts[0].error?.winner == RowKey.list(2).id)
            #expect(evaluation.verdicts[0].error?.current?.values["space"] == Place.a.space)
            #expect(store.places(of: .list(1)) == [.a])
            return
        }
        #expect(evaluation.verdicts[0] == .mergedInto(RowKey.list(2).id))
        #expect(evaluation.departures[0]?.movedTo?.generation == 3)
        #expect(store.text(.list(1), in: .a) == "end 2 since 1, B 3 at 20")
        #expect(store[.list(1), .b]?.memory.mergedInto == RowKey.list(2).id)
        // An edit of the life in A follows the row, and then its successor.
        let late = try store.push([(.update(.list(1), ["name": "late"], at: .at(99), generation: 1), .b)])
        #expect(late.verdicts[0] == .mergedInto(RowKey.list(2).id))
        #expect(store.value(.list(2), "name", in: .b) == "late")
    }

    @Test func `a row that was merged waits for a page before it moves`() throws {
        var store = MoveStore()
        store.schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"], onCollision: .mergeInto)]
        _ = try store.push([(Self.list(1, in: .a, name: "same"), .a)])
        _ = try store.push([(Self.list(2, in: .a, name: "same"), .a)])
        #expect(types(try store.push([Self.move(2, from: .a, to: .b)])) == ["behind"])
    }

    // MARK: - Who

    @Test(arguments: [MoveStore.Place.a, .b])
    func `P6 a move needs the right to write in both spaces`(place: MoveStore.Place) throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .a), .a)])
        store.roles[place] = .reader
        let evaluation = try store.push([Self.move(1, from: .a, to: .b)])
        #expect(types(evaluation) == ["roleForbids"])
        // With the source's row, so that the device takes its move back.
        #expect(evaluation.verdicts[0].error?.current?.values["space"] == Place.a.space)
        store.roles[place] = .writer
        #expect(types(try store.push([Self.move(1, from: .a, to: .b)])) == [""])
    }

    @Test func `members, invitations and subscriptions stay where they are`() throws {
        var store = MoveStore()
        let types = SpaceTypes()
        for (type, source, place) in [
            (types.member, Place.a, Place.b), (types.invitation, .a, .b), (types.space, .own, .b),
            (types.space, .b, .own),
        ] {
            let key = RowKey(type, RowKey.id(7))
            let row = MergeRow(generation: 1, cells: ["space": Cell(source.space, .at(0))])
            try store.put(row, RowMemory(person: "ann"), key, in: source)
            let operation = RowOperation.copy(key, from: source, ["space": place.space], at: 5)
            #expect(self.types(try store.push([(operation, place)])) == ["crossesSpaces"])
        }
    }

    @Test func `P2 a row of a third account is neither found nor changed`() throws {
        var store = MoveStore()
        _ = try store.push([(Self.list(1, in: .c), .c)])
        #expect(types(try store.push([Self.move(1, from: .a, to: .b)])) == ["notFound"])
        #expect(store.text(.list(1), in: .c) == "life 1: l")
        #expect(store[.list(1), .a] == nil && store[.list(1), .b] == nil)
    }
}

extension RowPatch {
    fileprivate func since(_ life: Int) -> RowPatch {
        var patch = self
        patch.firstLife = life
        return patch
    }
}
