// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistServing
import OptimistWire
import Testing

@testable import OptimistServer

/// A schema that renames tables and columns of the previous one.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct RenameTests {
    private let site: StoreFile
    private let first = Schema(
        id: "x", version: 1,
        types: [
            "List": TypeSchema(columns: ["name": ColumnSchema(.string)]),
            "Todo": TypeSchema(columns: [
                "content": ColumnSchema(.string), "likes": ColumnSchema(.counter), "plain": ColumnSchema(.bool),
                "listId": ColumnSchema(.ref, target: "List", onDelete: .cascade),
            ]),
        ])
    /// `Todo` is now `Task`, and `List` is now `Todo`.
    private let second = Schema(
        id: "x", version: 2,
        types: [
            "Todo": TypeSchema(columns: ["name": ColumnSchema(.string)], formerNames: [FormerName("List", until: 1)]),
            "Task": TypeSchema(
                columns: [
                    "title": ColumnSchema(.string, formerNames: [FormerName("content", until: 1)]),
                    "hearts": ColumnSchema(.counter, formerNames: [FormerName("likes", until: 1)]),
                    "plain": ColumnSchema(.bool),
                    "todoId": ColumnSchema(
                        .ref, target: "Todo", onDelete: .cascade, formerNames: [FormerName("listId", until: 1)]),
                ], formerNames: [FormerName("Todo", until: 1)]),
        ])

    init() throws { site = try StoreFile() }

    /// A clock that is not ahead of the file's days.
    private func clock(_ milliseconds: Int64) -> String {
        WriteClock(stamp: Stamp(milliseconds: milliseconds), device: "deviceAA").description
    }

    private func open(_ schema: Schema, _ epoch: String) throws -> StoreFile.Opened {
        let server = try site.open(epoch: epoch, schema: schema)
        try SchemaRegister.accept(schema, in: server.database.pool)
        return server
    }

    @Test
    func `L1: renamed rows are found under their current names, and by old apps under the former ones`()
        async throws
    {
        var server = try open(first, "e1")
        let (list, todo) = (RowKey.id(1), RowKey.id(2))
        _ = try await server.call("List/set", ["create": [list: ["name": "Trip"]]])
        let given: JSON = [
            "content": .string(clock(1)), "listId": .string(clock(2)),
            "likes": .string(clock(3)),
        ]
        let row: JSON = [
            "content": "milk", "listId": .string(list), "likes": ["@total": 3], "@hlc": given,
        ]
        let made = try await server.call("Todo/set", ["create": [todo: row]], push: 1)
        #expect(made["created"]?[todo] != nil, "\(made)")
        let before = try await server.call("Todo/changes", ["snapshot": [:]])
        try server.database.pool.close()

        server = try open(second, "e2")
        let task = try await server.call("Task/changes", ["snapshot": [:]])["list"]?.array?.first?.object
        #expect(task?["title"] == "milk")
        #expect(task?["hearts"] == 3)
        #expect(task?["content"] == nil)
        let clocks = task.flatMap { RowPatch(json: $0) }?.clocks
        #expect(clocks?["title"]?.description == clock(1) && clocks?["todoId"]?.description == clock(2))
        #expect(try await server.call("Todo/changes", ["snapshot": [:]])["list"]?.array?.first?["name"] == "Trip")
        let old = try await server.call("Todo/changes", ["snapshot": [:]], schemaVersion: 1)
        #expect(old["list"] == before["list"])
        let view = try await server.database.pool.read { try String.fetchOne($0, sql: "SELECT title FROM Task") }
        #expect(view == "milk")
        // The index uses the current names: the delete reaches the rows that refer to it.
        _ = try await server.call("Todo/set", ["destroy": [.string(list)]])
        #expect(try await server.call("Task/changes", ["snapshot": [:]])["list"] == [])
        try server.database.pool.close()

        server = try open(second, "e3")
        #expect(try await server.call("Task/get", ["ids": nil])["list"] == [])
        try server.database.pool.close()
    }
}
