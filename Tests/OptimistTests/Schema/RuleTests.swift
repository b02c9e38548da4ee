// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistWire

private struct Errand: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
    static let syncRules = SyncRules(columns: [
        "content": ColumnRules(maxLength: 10, pattern: "\\p{L}*"), "priority": ColumnRules(min: 0, max: 3),
    ])
    var id = UUID()
    var content: String
    var date = ""
    var priority = 0
    var done = false
    var alarm: Date?
}

private struct BadErrand: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
    static let syncRules = SyncRules(columns: [
        "content": ColumnRules(min: 1, pattern: "("), "prioritty": ColumnRules(min: 0),
        "priority": ColumnRules(min: 3, max: 2),
    ])
    var id = UUID()
}

@Suite(.timeLimit(.minutes(20)))
struct RuleTests {
    private static let checks = RowValidation([
        "todo": { row in
            guard row["done"] == true, row["priority"] != 0 else { return nil }
            return RowFault("doneAndUrgent", "What is done has no priority.", columns: ["priority"])
        }
    ])

    private let phone: Phone
    private let store: Store

    init() throws {
        phone = try Phone()
        store = try Store(
            at: phone.folder.appending(path: "errands.sqlite"), synced: [Errand.self], durability: .normal,
            rowValidation: Self.checks, dependencies: Dependencies(seed: 1), migrate: Todo.migrate)
    }

    private func refusal(_ write: @escaping @Sendable (Database) throws -> Void) async -> OptimistError? {
        do { try await store.write(write) } catch { return error as? OptimistError }
        return nil
    }

    @Test(arguments: [
        (Errand(content: "Tea4"), "todo.content", "\"pattern\""),
        (Errand(content: "Teateateatea"), "todo.content", "\"maxLength\""),
        (Errand(content: "Tea", priority: 4), "todo.priority", "\"max\""),
    ])
    private func `G1 a write that breaks a rule throws, names table, column and rule, and writes nothing`(
        errand: Errand, column: String, rule: String
    ) async throws {
        let error = await refusal { db in
            try Errand(content: "Milk").insert(db)
            try errand.insert(db)
        }
        #expect(error?.code == .ruleBroken)
        #expect(error?.message.contains(column) == true && error?.message.contains(rule) == true)
        #expect(error?.message.contains("Tea") == false, "The message contains the user's text.")
        #expect(try await store.todos().isEmpty)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `G1 rules apply to the end of the transaction, not to states in between`() async throws {
        try await store.write { db in
            var errand = Errand(content: "Tea 4")
            try errand.insert(db)
            errand.content = "Tea"
            try errand.update(db)
            let other = Errand(content: "123")
            try other.insert(db)
            try other.delete(db)
        }
        #expect(try await store.todos().map(\.content) == ["Tea"])
    }

    @Test func `G1 a received row that breaks a rule is shown, and its other columns can be edited`() async throws {
        let todo = Todo(content: "Tea 4", priority: 9)
        let values: JSONObject = ["content": .string(todo.content), "date": "d", "priority": 9, "done": false]
        try await store.receive([pageRow(todo, seq: 1, values)], from: "e1.0", to: "e1.1")
        #expect(await refusal { try $0.execute(sql: "UPDATE todo SET date = 'today'") } == nil)
        #expect(
            await refusal { try $0.execute(sql: "UPDATE todo SET date = 'now', priority = 8") }?.code == .ruleBroken)
        #expect(try await store.todos().map(\.date) == ["today"])
    }

    @Test func `G2 a store reports every bad rule when it opens`() throws {
        let problems = try Store.validate([BadErrand.self], in: store.reader).map(\.description)
        #expect(problems.contains { $0.hasPrefix("todo.content: it has \"min\" or \"max\" but is not") })
        #expect(problems.contains { $0.hasPrefix("todo.content: it has a \"pattern\" that cannot be read") })
        #expect(problems.contains { $0.hasPrefix("todo.priority: it has a \"min\" above its \"max\"") })
        #expect(problems.contains { $0.hasPrefix("todo.prioritty: a rule needs a column") })
        let error = #expect(throws: OptimistError.self) {
            try Store(
                at: phone.folder.appending(path: "bad.sqlite"), synced: [BadErrand.self], migrate: Todo.migrate)
        }
        #expect(error?.code == .invalidTable)
    }

    @Test func `G2 a check for an unsynced table is an error that names it before the file is created`() throws {
        let file = phone.folder.appending(path: "unknown.sqlite")
        let checks = RowValidation(["tod": { _ in nil }, "todo": { _ in nil }])
        let error = #expect(throws: OptimistError.self) {
            try Store(at: file, synced: [Todo.self], rowValidation: checks, migrate: Todo.migrate)
        }
        #expect(error?.code == .invalidTable)
        #expect(error?.message.contains("checks for tod,") == true)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `G2 an exported schema has the app's rules, and an update adds them`() throws {
        let file = phone.folder.appending(path: "errands.sqlite")
        let schema = try Schema(exporting: file, id: "errands")
        #expect(schema.types["todo"]?.columns["content"]?.rules == Errand.syncRules.columns["content"])
        #expect(schema.types["todo"]?.columns["date"]?.rules == ColumnRules())
        var edited = schema
        edited.types["todo"]?.columns["content"]?.rules = ColumnRules()
        edited.types["todo"]?.columns["priority"]?.rules.max = 5
        let update = try SchemaUpdate(of: edited, exporting: file)
        #expect(update.schema.types["todo"]?.columns["content"]?.rules == Errand.syncRules.columns["content"])
        #expect(update.schema.types["todo"]?.columns["priority"]?.rules.max == 5)
        #expect(update.schema.version == 2 && update.notes.count == 2)
    }

    @Test func `G3 the app's check throws at the write with its code, and sees the entire row`() async throws {
        try await store.write { try Errand(content: "Tea", priority: 2).insert($0) }
        let error = await refusal { try $0.execute(sql: "UPDATE todo SET done = 1") }
        #expect(error?.code == .ruleBroken)
        #expect(
            error?.cause as? RowFault
                == RowFault(
                    "doneAndUrgent", "What is done has no priority.", columns: ["priority"]))
        #expect(try await store.todos().map(\.done) == [false])
        #expect(await refusal { try $0.execute(sql: "UPDATE todo SET done = 1, priority = 0") } == nil)
    }

    @Test func `G3 the code of the server's check becomes the code of the rejection`() {
        let error = SetError("invalidProperties", "It is late.", properties: ["date"], code: "tooLate")
        let change = RemotePush.Row.Change.update(RowPatch(generation: 1, values: [:]))
        let refusal = AnswerClass.verdict(SetError(json: error.json) ?? SetError("x"), on: change, at: 1).refusal
        #expect((refusal?.code, refusal?.columns) == ("tooLate", ["date"]))
    }
}
