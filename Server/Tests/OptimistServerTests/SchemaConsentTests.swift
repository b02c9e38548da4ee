// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Changes of a schema that affect apps and rows need consent.
@Suite(.timeLimit(.minutes(20)))
struct SchemaConsentTests {
    private let site = Site()

    private static func schema(_ version: Int, _ types: [String: [String: ColumnSchema]]) -> Schema {
        Schema(id: "x", version: version, types: types.mapValues { TypeSchema(columns: $0) })
    }

    private static let list = ["name": ColumnSchema(.string), "owner": ColumnSchema(.string)]
    private static let todo = [
        "title": ColumnSchema(.string), "done": ColumnSchema(.bool), "list": ColumnSchema(.ref, target: "list"),
    ]
    private static let first = schema(1, ["list": list, "todo": todo])

    private func refusal(_ schema: Schema, accepting changes: [SchemaChange] = []) async throws -> String? {
        do {
            _ = try await site.open(schema: schema) { $0.acceptedChanges = changes }
            return nil
        } catch let error as OptimistError {
            #expect(error.code == .schemaConflict)
            return error.message
        }
    }

    private static let changes: [(String, Schema)] = [
        ("drop:todo", schema(2, ["list": list])),
        ("drop:todo.done", schema(2, ["list": list, "todo": todo.filter { $0.key != "done" }])),
        ("retype:todo.done", schema(2, ["list": list, "todo": todo.merging(["done": ColumnSchema(.string)]) { $1 }])),
        (
            "retype:todo.list",
            schema(2, ["list": list, "todo": todo.merging(["list": ColumnSchema(.ref, target: "todo")]) { $1 }])
        ),
        (
            "require:todo.title",
            schema(2, ["list": list, "todo": todo.merging(["title": ColumnSchema(.string, isRequired: true)]) { $1 }])
        ),
        (
            "require:todo.due",
            schema(2, ["list": list, "todo": todo.merging(["due": ColumnSchema(.date, isRequired: true)]) { $1 }])
        ),
    ]

    @Test(arguments: changes)
    func `a version that removes something is refused until exactly that change is accepted`(
        change: String, schema: Schema
    ) async throws {
        _ = try await site.open(schema: Self.first)
        let refused = try #require(try await refusal(schema))
        #expect(refused.hasSuffix("start with:\n  --accept \(change)"), "\(refused)")
        #expect(try await refusal(Self.first) == nil, "nothing has changed")
        let other = try #require(SchemaChange("drop:list.owner"))
        let known = try #require(SchemaChange(change))
        let wrong = try #require(try await refusal(schema, accepting: [known, other]))
        #expect(wrong.contains("--accept drop:list.owner does not match any change"))
        #expect(try await refusal(schema, accepting: [known]) == nil)
        #expect(try await refusal(schema, accepting: [known]) == nil, "a restart with the same options")
        #expect(try await refusal(schema) == nil)
        #expect(try await refusal(schema, accepting: [other])?.contains("does not match any change") == true)
    }

    @Test func `all changes are reported together, with the options to copy`() async throws {
        _ = try await site.open(schema: Self.first)
        let second = Self.schema(
            2, ["todo": ["title": ColumnSchema(.int), "done": ColumnSchema(.bool, isRequired: true)]])
        let refused = try #require(try await refusal(second))
        let words = ["drop:list", "drop:todo.list", "require:todo.done", "retype:todo.title"]
        #expect(refused.hasSuffix("\n  " + words.map { "--accept \($0)" }.joined(separator: " ")))
        #expect(refused.contains("todo.title was string and is now int."))
        let some = try await refusal(second, accepting: words.dropLast().compactMap { SchemaChange($0) })
        #expect(some?.contains("todo.title was") == true && some?.contains("was removed") == false)
        #expect(try await refusal(second, accepting: words.compactMap { SchemaChange($0) }) == nil)
    }

    @Test func `renames, additions and weaker requirements are accepted without consent`() async throws {
        _ = try await site.open(schema: Self.first)
        var second = Self.schema(
            2,
            [
                "folder": ["name": ColumnSchema(.string), "owner": ColumnSchema(.string, maxBytes: 10)],
                "task": [
                    "title": ColumnSchema(.string, formerNames: []),
                    "finished": ColumnSchema(.bool, formerNames: [FormerName("done", until: 1)]),
                    "folder": ColumnSchema(.ref, target: "folder", formerNames: [FormerName("list", until: 1)]),
                ], "note": ["text": ColumnSchema(.string, isRequired: true)],
            ])
        second.types["folder"]?.formerNames = [FormerName("list", until: 1)]
        second.types["task"]?.formerNames = [FormerName("todo", until: 1)]
        #expect(try await refusal(second) == nil)
    }

    @Test func `a column that returns with another type is detected by its stored rows`() async throws {
        _ = try await site.open(schema: Self.first)
        let second = Self.schema(2, ["list": Self.list, "todo": Self.todo.filter { $0.key != "done" }])
        #expect(try await refusal(second, accepting: [SchemaChange(.drop, "todo", "done")]) == nil)
        let third = Self.schema(3, ["list": Self.list, "todo": Self.todo.merging(["done": ColumnSchema(.int)]) { $1 }])
        #expect(try await refusal(third)?.hasSuffix("--accept retype:todo.done") == true)
        let same = Self.schema(3, ["list": Self.list, "todo": Self.todo])
        #expect(try await refusal(same) == nil)
    }

    @Test func `M6 a unique index is refused if existing rows collide in it`() async throws {
        try await collide()
        var second = Self.first
        second.version = 2
        second.types["list"]?.uniqueIndexes = [UniqueIndex(["name"]), UniqueIndex(["owner"])]
        let refused = try #require(try await refusal(second))
        #expect(refused.contains("list.name is now unique, but 2 rows collide."))
        #expect(refused.hasSuffix("\n  --accept unique:list.name"))
        #expect(try await refusal(second, accepting: [SchemaChange(.unique, "list", "name")]) == nil)
        #expect(try await refusal(second, accepting: [SchemaChange(.unique, "list", "owner")]) == nil)
    }

    /// Two lists of one person have the same name as a list of another person.
    private func collide() async throws {
        let server = try await site.open(schema: Self.first)
        let (ann, ben) = (try await server.signUp("a@example.org"), try await server.signUp("b@example.org"))
        for (person, number, name) in [(ann, 1, "Trip"), (ann, 2, "Trip"), (ben, 3, "Trip"), (ben, 4, "Home")] {
            _ = try await server.call(person, "list/set", ["create": [RowKey.id(number): ["name": .string(name)]]])
        }
    }

    @Test func `a first version has nothing to accept`() async throws {
        let refused = try await refusal(Self.first, accepting: [SchemaChange(.drop, "note")])
        #expect(refused?.contains("--accept drop:note does not match any change") == true)
    }

    @Test(arguments: [
        "drop:note", "drop:todo.done", "retype:todo.done", "require:todo.due", "unique:contact.email+name",
    ])
    func `a change is parsed from its own text`(text: String) {
        #expect(SchemaChange(text)?.description == text)
    }

    @Test(arguments: [
        "", "note", "drop:", "drop:.done", "drop:todo.", "drop:todo.a+b", "drop:a.b.c", "retype:todo", "unique:todo",
        "unique:todo.a+", "lose:todo", "drop:a:b",
    ])
    func `an invalid change is refused`(text: String) { #expect(SchemaChange(text) == nil) }
}
