// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Snapshots, tombstones and expiry in the embedded database.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct ExpiryTests {
    private let file: StoreFile

    init() throws { file = try StoreFile() }

    private func sweep(_ server: StoreFile.Opened, batch: Int = 500) async throws {
        try await TombstoneSweep(store: server.store, tombstoneDays: 90, batch: batch).run(now: server.now)
    }

    @Test func `R6: a snapshot page is one scan of the primary key without sorting`() throws {
        let plan = try file.open(epoch: "e1").database.pool.read { db in
            try Row.fetchAll(
                db, sql: "EXPLAIN QUERY PLAN " + SQLiteAccount.livingInOrder, arguments: ["a", "t", "x"]
            ).map { row -> String in row["detail"] }
        }
        #expect(plan.count == 1)
        #expect(
            plan.first?.contains("sqlite_autoindex_optimist_rows_1 (account_id=? AND type=? AND id>?)") == true,
            "\(plan)")
    }

    @Test func `R6: pages in the order of ids hold every living row once`() async throws {
        let server = try file.open(epoch: "e1")
        for number in [5, 1, 4, 2, 3] { try await server.put(number, "\(number)", push: 1) }
        _ = try await server.call("todo/set", ["destroy": [.string(RowKey.id(4))]])
        var (place, found): (JSON, [String]) = ([:], [])
        while true {
            let page = try await server.call("todo/changes", ["snapshot": place, "maxChanges": 2])
            #expect(page["at"] == "e1.6")
            #expect(page["total"] == (found.isEmpty ? 4 : nil))
            found += page["list"]?.array?.compactMap { $0["content"]?.string } ?? []
            guard let next = page["next"]?.string else { break }
            place = ["at": "e1.6", "after": .string(next)]
        }
        #expect(found == ["1", "2", "3", "5"])
    }

    @Test func `L4: deleted rows are purged after 90 days in batches, and the floor survives a restart`() async throws {
        var server = try file.open(epoch: "e1", day: 20_000)
        for number in 1...7 { try await server.put(number, "a", push: Int64(number)) }
        for number in 1...5 { _ = try await server.call("todo/set", ["destroy": [.string(RowKey.id(number))]]) }
        try server.database.pool.close()
        server = try file.open(epoch: "e2", day: 20_089)
        try await server.put(8, "b", push: 8)
        try await sweep(server)
        #expect(try await server.pull("e1.7")["destroyed"]?.array?.count == 5)
        try server.database.pool.close()
        server = try file.open(epoch: "e3", day: 20_091)
        try await sweep(server, batch: 2)
        let counts = try await server.database.pool.read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM optimist_rows), (SELECT count(*) FROM optimist_account_days),
                        (SELECT floor FROM optimist_accounts)
                    """
            ).map { [$0[0], $0[1], $0[2]] as [Int] }
        }
        #expect(counts == [3, 1, 12])
        try server.database.pool.close()
        server = try file.open(epoch: "e4", day: 20_092)
        #expect(try await server.pull("e1.11")["type"] == "cannotCalculateChanges")
        #expect(try await server.pull("e1.12")["list"]?.array?.count == 1)
        #expect(try await server.pull("e1.0")["list"]?.array?.count == 3)
        try await sweep(server)
    }

    @Test func `L3: a device's push number is forgotten after a year without contact`() async throws {
        var server = try file.open(epoch: "e1", day: 20_000)
        try await server.put(1, "a", push: 7)
        try server.database.pool.close()
        server = try file.open(epoch: "e2", day: 20_365)
        try await sweep(server)
        await #expect(throws: RequestProblem.self) { try await server.put(1, "b", push: 6) }
        try server.database.pool.close()
        server = try file.open(epoch: "e3", day: 20_366)
        try await sweep(server)
        try await server.put(1, "b", push: 6)
    }
}
