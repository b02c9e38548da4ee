// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistCore
@testable import OptimistServing

/// The app's `willApply`, which runs inside the transaction.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct HookTests {
    private struct Trouble: Error {}

    /// Records what the hook was asked and why groups were deferred.
    private final class Notes: Sendable {
        private let asked = Mutex<[WrittenGroup]>([])
        private let put = Mutex<[String]>([])

        var groups: [WrittenGroup] { asked.withLock(\.self) }
        var failures: [String] { put.withLock(\.self) }
        func add(_ group: WrittenGroup) { asked.withLock { $0.append(group) } }

        func add(_ failure: GroupHook.Failure) {
            let word =
                switch failure {
                case .late: "late"
                case .threw: "threw"
                case .badAmendment(let key): "bad \(key.id == RowKey.todo.id ? "todo" : "other")"
                }
            put.withLock { $0.append(word) }
        }
    }

    private let notes = Notes()

    private func store(
        within deadline: Duration = .seconds(600), _ willApply: @escaping GroupHook.WillApply = { _ in [] }
    ) -> ModelStore {
        var store = ModelStore()
        store.hook = GroupHook(deadline: deadline, onFailure: { [notes] in notes.add($0) }) { [notes] group in
            notes.add(group)
            return try await willApply(group)
        }
        return store
    }

    /// Pushes on a thread that may block, as a real store does.
    private func push(
        _ operations: [RowOperation], groups: [[RowKey]] = [], to store: inout ModelStore
    ) async -> [RowVerdict] {
        // The caller is suspended, so only one thread uses it.
        nonisolated(unsafe) var present = store
        let verdicts = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: present.push(operations, groups: groups)) }
        }
        store = present
        return verdicts
    }

    @Test func `G4 the hook sees each changed group once, with the rows before and after`()
        async throws
    {
        var store = store()
        let create = RowOperation.create(.todo, ["content": "tea"], at: .at(0))
        _ = await push(
            [create, .create(.todo(1), ["content": "milk"], at: .at(0))], groups: [[.todo, .todo(1)]], to: &store)
        _ = await push(
            [create, .update(.todo(1), ["done": true], at: .at(1)), .destroy(.todo(2), at: .at(1))], to: &store)
        _ = await push([.destroy(.todo(1), at: .at(2))], to: &store)
        #expect(notes.groups.map { $0.rows.map(\.key) } == [[.todo, .todo(1)], [.todo(1)], [.todo(1)]])
        #expect(notes.groups.allSatisfy { ($0.account, $0.device) == ("a1", "deviceAA") })
        let update = try #require(notes.groups[1].rows.first)
        #expect((update.before?["done"], update.after?["done"], update.changed) == (.null, true, ["done"]))
        #expect(update.after?["content"] == "milk")
        let deletion = try #require(notes.groups[2].rows.first)
        #expect(deletion.before?["content"] == "milk" && deletion.after == nil)
    }

    @Test func `G4 amendments are stored, and the device receives them, even if the first answer was lost`() async {
        var store = store { group in
            group.rows.map { RowAmendment($0.key, ["content": "amended", "priority": 1]) }
        }
        let write = RowOperation.create(.todo, ["content": "tea", "priority": 1], at: .at(0))
        let verdicts = await push([write], to: &store)
        #expect(store.value(.todo, "content") == "amended")
        guard case .accepted(let won?) = verdicts.first else { return #expect(Bool(false), "\(verdicts)") }
        #expect(won.values == ["content": "amended"])
        let again = await push([write], to: &store)
        guard case .accepted(let repeated?) = again.first else { return #expect(Bool(false), "\(again)") }
        #expect(repeated.values["content"] == "amended")
        #expect(notes.groups.count == 1 && store.seq == 1)
    }

    @Test func `G4 a fault refuses its group's rows with its code, and the others are applied`() async {
        var store = store { group in
            guard group.rows.contains(where: { $0.key == .todo }) else { return [] }
            throw RowFault("overQuota", "There are too many.", columns: ["content"])
        }
        let verdicts = await push(
            [0, 1, 2].map { .create($0 == 0 ? .todo : .todo($0), ["content": "tea"], at: .at(0)) },
            groups: [[.todo, .todo(1)]], to: &store)
        #expect(verdicts.map { $0.error?.type } == ["forbidden", "forbidden", nil])
        #expect(verdicts.map { $0.error?.code } == ["overQuota", "overQuota", nil])
        #expect(Set(store.rows.keys) == [.todo(2)])
        #expect(notes.failures.isEmpty)
    }

    @Test(arguments: [
        RowAmendment(.todo, ["colour": "red"]), RowAmendment(.todo, ["content": 5]),
        RowAmendment(.todo(9), ["done": true]),
        RowAmendment(.todo, ["content": .string(String(repeating: "x", count: 1001))]),
    ])
    func `G4 an impossible amendment defers the group and stores none of its rows`(
        amendment: RowAmendment
    ) async {
        var store = store { group in
            group.rows.contains { $0.key == .todo } ? [RowAmendment(.todo, ["done": true]), amendment] : []
        }
        let verdicts = await push(
            [.create(.todo, ["content": "tea"], at: .at(0)), .create(.todo(1), ["content": "tea"], at: .at(0))],
            to: &store)
        #expect(verdicts.map { $0.error?.type } == ["serverFail", nil])
        #expect(Set(store.rows.keys) == [.todo(1)])
        #expect(notes.failures == [amendment.key == .todo ? "bad todo" : "bad other"])
    }

    @Test func `G3 G4 an amendment that the app's own check refuses defers the group`() async {
        var store = store { group in group.rows.map { RowAmendment($0.key, ["done": true]) } }
        store.rowValidation = Self.priorities
        let verdicts = await push(
            [
                .create(.todo, ["content": "tea"], at: .at(0)),
                .create(.todo(1), ["content": "tea", "priority": 1], at: .at(0)),
            ], to: &store)
        #expect(verdicts.map { $0.error?.type } == ["serverFail", nil])
        #expect(Set(store.rows.keys) == [.todo(1)] && store.value(.todo(1), "done") == true)
        #expect(notes.failures == ["bad todo"])
    }

    @Test func `G3 G4 the check judges a row once, after all of its amendments`() async {
        var store = store { group in
            group.rows.flatMap { [RowAmendment($0.key, ["done": true]), RowAmendment($0.key, ["priority": 1])] }
        }
        store.rowValidation = Self.priorities
        _ = await push([.create(.todo, ["content": "tea"], at: .at(0))], to: &store)
        #expect(store.value(.todo, "done") == true && store.value(.todo, "priority") == 1)
        #expect(notes.failures.isEmpty)
    }

    @Test func `G3 G4 a row that already broke a check may be amended`() async {
        var store = store { group in
            group.rows.contains { $0.key == .todo(1) } ? [RowAmendment(.todo, ["content": "amended"])] : []
        }
        _ = await push([.create(.todo, ["content": "tea", "done": true], at: .at(1))], to: &store)
        store.rowValidation = Self.priorities
        // The update is too old to change anything.
        _ = await push(
            [.update(.todo, ["content": "coffee"], at: .at(0)), .create(.todo(1), ["content": "milk"], at: .at(2))],
            groups: [[.todo, .todo(1)]], to: &store)
        #expect(store.value(.todo, "content") == "amended" && notes.failures.isEmpty)
    }

    private static let priorities = RowValidation([
        "Todo": { $0["done"] == true && $0["priority"].isNull ? RowFault("bare", "It has no priority.") : nil }
    ])

    @Test func `G4 an error in the hook defers the group`() async {
        var store = store { group in
            if group.rows.contains(where: { $0.key == .todo }) { throw Trouble() }
            return []
        }
        let verdicts = await push(
            [.create(.todo, ["content": "tea"], at: .at(0)), .create(.todo(1), ["content": "tea"], at: .at(0))],
            to: &store)
        #expect(verdicts.map { $0.error?.type } == ["serverFail", nil])
        #expect(Set(store.rows.keys) == [.todo(1)])
        #expect(notes.failures == ["threw"])
    }

    @Test func `G4 a hook that hangs is cancelled, and its group and later groups are deferred`() async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        var store = store(within: .milliseconds(20)) { _ in
            // Only cancellation ends it.
            await withTaskCancellationHandler {
                for await _ in AsyncStream<Void>.makeStream().stream {}
            } onCancel: {
                end.finish()
            }
            return []
        }
        let verdicts = await push(
            [.create(.todo, ["content": "tea"], at: .at(0)), .create(.todo(1), ["content": "tea"], at: .at(0))],
            to: &store)
        #expect(verdicts.map { $0.error?.type } == ["rateLimit", "rateLimit"])
        #expect(store.rows.isEmpty && store.seq == 0)
        #expect(notes.groups.count <= 1)
        #expect(notes.failures == ["late", "late"])
        if !notes.groups.isEmpty { for await _ in ends {} }
    }

    /// A store where to-do 2 was merged into to-do 1.
    private func merged(_ willApply: @escaping GroupHook.WillApply = { _ in [] }) async -> ModelStore {
        var store = store { group in
            group.rows.contains { $0.changed.contains("done") } ? try await willApply(group) : []
        }
        store.schema.types["Todo"]?.uniqueIndexes = [UniqueIndex(["content"], onCollision: .mergeInto)]
        for number in 1...2 {
            _ = await push([.create(.todo(number), ["content": "tea"], at: .at(Int64(number)))], to: &store)
        }
        return store
    }

    @Test func `G4 M6 if a merged row is edited, the hook sees the row it was merged into`()
        async throws
    {
        var store = await merged()
        let edits: [RowOperation] = [
            .update(.todo(1), ["priority": 1], at: .at(4)), .update(.todo(2), ["done": true], at: .at(5)),
        ]
        for _ in 1...2 {
            let verdicts = await push(edits, groups: [[.todo(1), .todo(2)]], to: &store)
            #expect(verdicts[1] == .mergedInto(RowKey.todo(1).id))
        }
        #expect(notes.groups.count == 3, "A repetition changes nothing.")
        let rows = try #require(notes.groups.last?.rows)
        let row = try #require(rows.first)
        #expect(rows.count == 1 && row.key == .todo(1) && row.changed == ["done", "priority"])
        #expect((row.before?["done"], row.after?["done"], row.after?["priority"]) == (.null, true, 1))
    }

    @Test func `G4 M6 the hook can refuse an edit of a merged row, and the surviving row stays as it was`() async {
        var store = await merged { _ in throw RowFault("closed", "It is closed.") }
        let verdicts = await push([.update(.todo(2), ["done": true], at: .at(4))], to: &store)
        #expect((verdicts[0].error?.type, verdicts[0].error?.code) == ("forbidden", "closed"))
        #expect(store.value(.todo(1), "done") == nil)
    }

    @Test func `G4 M6 an amendment of a merged row's edit is stored as the surviving row's latest write`() async {
        var store = await merged { group in group.rows.map { RowAmendment($0.key, ["done": false, "priority": 3]) } }
        let edit = RowOperation.update(.todo(2), ["done": true], at: .at(4))
        for _ in 1...2 {
            #expect(await push([edit], to: &store)[0] == .mergedInto(RowKey.todo(1).id))
            #expect(store.value(.todo(1), "done") == false && store.value(.todo(1), "priority") == 3)
        }
        #expect(notes.groups.count == 3 && notes.failures.isEmpty)
    }
}
