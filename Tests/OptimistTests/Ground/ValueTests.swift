// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct ValueTests {
    private static let deepest = String(repeating: "[", count: 24) + String(repeating: "]", count: 24)

    static let carried: [(column: String, sql: String)] = [
        ("word", "''"), ("word", "'a' || char(0) || 'b'"), ("word", "char(0)"), ("word", "char(769) || 'x'"),
        ("word", "'🏳️‍🌈'"), ("word", "char(39, 39, 0, 39)"), ("short", "'longer than ten characters'"),
        ("day", "'2026-11-21'"), ("day", "20261121"), ("flag", "1"), ("flag", "0"), ("count", "-9007199254740992"),
        ("large", "-9223372036854775808"), ("large", "9223372036854775807"), ("ratio", "0.1"), ("ratio", "5"),
        ("ratio", "1.7976931348623157e308"), ("ratio", "5e-324"), ("amount", "5"), ("amount", "5.5"),
        ("amount", "9007199254740992"), ("price", "19.99"), ("price", "1e300"), ("anything", "5"), ("anything", "5.0"),
        ("bytes", "x''"), ("bytes", "zeroblob(3)"), ("doc", #"'{"a":[1,2.5,"ü"]}'"#), ("doc", "5"), ("doc", "0.1"),
        ("doc", "'true'"), ("doc", #"'""'"#), ("doc", "9007199254740993"), ("doc", "'[-9223372036854775808]'"),
        ("doc", "'\(deepest)'"), ("page", "'5'"), ("page", "'{}'"), ("moment", "'2026-11-21 10:00:00'"),
        ("moment", "'2026-11-21 10:00:00.123'"), ("moment", "'2026-11-21 10:00:00.123456789'"),
        ("since", "1790000000"), ("since", "1790000000.123456"), ("since", "-1.5"), ("since", "-0.25"),
        ("millis", "1790000000123"), ("millis", "1790000000123.25"), ("millis", "-1"),
    ]

    @Test(arguments: carried) func `W10 a value that its column can hold arrives with its type and bytes`(
        column: String, sql: String
    ) async throws {
        let (lab, specimen) = (try Specimens(), Specimen())
        try await lab.here.store.write { try specimen.insert($0) }
        try await lab.here.set(column, sql, in: specimen)
        let written = try await lab.here.literal(column, of: specimen)
        try await lab.sync()
        #expect(try await lab.there.literal(column, of: specimen) == written)
        #expect(try await lab.here.store.rejections().isEmpty)
        // The other device edits the value, so that the server's value is stored, and undoes the edit.
        try await lab.there.set(column, "NULL", in: specimen)
        try await lab.there.set(column, sql, in: specimen)
        #expect(try await lab.there.store.counts().pending == 0, "writing the server's value is not an edit")
        try await lab.there.set(column, "NULL", in: specimen)
        try await lab.there.store.discardPending()
        #expect(try await lab.there.literal(column, of: specimen) == written)
    }

    static let refused: [(column: String, sql: String)] = [
        ("word", "x'00'"), ("word", "CAST(x'ff' AS TEXT)"), ("word", "CAST(x'eda080' AS TEXT)"), ("day", "x'01'"),
        ("flag", "2"), ("flag", "'true'"), ("count", "9007199254740993"), ("count", "1.5"), ("count", "'many'"),
        ("large", "1.5"), ("large", "'5x'"), ("ratio", "9e999"), ("ratio", "'0,5'"), ("amount", "9007199254740993"),
        ("anything", "'word'"), ("anything", "x'00'"), ("bytes", "'abcd'"), ("bytes", "7"), ("doc", "''"),
        ("doc", "'hello'"), ("doc", "x'7b7d'"), ("doc", "'null'"), ("doc", "'[\(deepest)]'"),
        ("doc", #"'{"a":1,"a":2}'"#), ("doc", "'[1e400]'"), ("doc", "'[1e-400]'"), ("doc", "'[18446744073709551615]'"),
        ("doc", "'[0.1234567890123456789]'"), ("doc", #"'["\ud800"]'"#), ("doc", #"'{"@text":"x"}'"#),
        ("page", "'{a:1}'"), ("moment", "'2026-11-21T10:00:00.123Z'"), ("moment", "'2026-11-21'"),
        ("moment", "1790000000"), ("since", "'2026-11-21 10:00:00'"), ("since", "1e-10"), ("since", "1e300"),
        ("millis", "'now'"), ("owner", "'word'"),
    ]

    @Test(arguments: refused) func `W10 S9 any other value is refused at the write, by table and column`(
        column: String, sql: String
    ) async throws {
        let (device, specimen) = (try Device([Specimen.self], migrate: Specimen.migrate), Specimen())
        try await device.store.write { try specimen.insert($0) }
        while let batch = try await device.next() {
            try await device.store.apply(batch.sent.map { _ in .accepted(seq: 1) }, of: batch)
        }
        let error = await #expect(throws: OptimistError.self) { try await device.set(column, sql, in: specimen) }
        #expect(error?.code == .unfitValue)
        #expect(error?.message.hasPrefix("specimen.\(column) accepts ") == true, "\(error?.message ?? "")")
        await #expect(throws: OptimistError.self) {
            try await device.execute("INSERT INTO specimen(id, \"\(column)\") VALUES (?, \(sql))", [UUID()])
        }
        #expect(try await device.literal(column, of: specimen) == "NULL")
        #expect(try await device.store.counts().pending == 0)
    }

    @Test func `W10 JSON arrives as an equal value, however it is spelled`() async throws {
        let (lab, specimen) = (try Specimens(), Specimen())
        try await lab.here.store.write { try specimen.insert($0) }
        try await lab.here.set("doc", #"' { "b" : "a\/\u00e9" , "a" : [ 1e2, -0 ] } '"#, in: specimen)
        try await lab.sync()
        #expect(try await lab.there.literal("doc", of: specimen) == #"'{"b":"a/é","a":[100.0,0]}'"#)
        #expect(try await lab.here.literal("doc", of: specimen).contains(" : "), "the device keeps its own spelling")
    }

    @Test func `W10 a value from before the table was synced stays, and other columns can be edited`() async throws {
        let specimen = Specimen()
        let device = try Device([Specimen.self]) { migrator in
            Specimen.migrate(&migrator)
            migrator.registerMigration("old rows") { db in
                try db.execute(
                    sql: "INSERT INTO specimen(id, flag, word) VALUES (?, 7, x'01')", arguments: [specimen.id])
            }
        }
        try await device.set("count", "1", in: specimen)
        try await device.set("flag", "7", in: specimen)
        #expect(try await device.literal("word", of: specimen) == "X'01'")
        let row = try #require(try await device.next()?.push.rows.first)
        guard case .create(let patch) = row.change else { throw CancellationError() }
        #expect(patch.values["flag"] == 7 && patch.values["word"] == ["@data": "AQ"], "the server refuses both by name")
    }

    @Test func `W10 a value is checked even if the id changes with it`() async throws {
        let (device, specimen) = (try Device([Specimen.self], migrate: Specimen.migrate), Specimen())
        try await device.store.write { try specimen.insert($0) }
        let error = await #expect(throws: OptimistError.self) {
            try await device.execute("UPDATE specimen SET id = ?, doc = 'hello'", [UUID()])
        }
        #expect(error?.code == .unfitValue)
    }

    @Test func `W10 S1 an empty blob from another device is edited and sent like any other`() async throws {
        let (lab, specimen) = (try Specimens(), Specimen())
        try await lab.here.store.write { db in
            try specimen.insert(db)
            try db.execute(sql: "UPDATE specimen SET bytes = x''")
        }
        try await lab.sync()
        try await lab.there.set("word", "'edited'", in: specimen)
        try await lab.sync()
        #expect(try await lab.here.literal("word", of: specimen) == "'edited'")
        #expect(try await lab.here.literal("bytes", of: specimen) == "X''")
    }

    @Test func `W3 an edit after a zero byte is captured, and a refusal restores the entire text`() async throws {
        let (lab, specimen) = (try Specimens(), Specimen())
        try await lab.here.store.write { try specimen.insert($0) }
        try await lab.here.set("word", "'a' || char(0) || 'b'", in: specimen)
        try await lab.sync()
        let confirmed = try await lab.here.literal("word", of: specimen)
        #expect(confirmed == "CAST(X'610062' AS TEXT)")
        try await lab.here.set("word", "'other'", in: specimen)
        try await lab.here.set("word", "'a' || char(0) || 'c'", in: specimen)
        #expect(try await lab.here.store.counts().pending == 1)
        try await lab.here.sync(with: lab.server) { _ in
            RemotePush.Refusal(code: "invalidProperties", message: "The word is not allowed.")
        }
        #expect(try await lab.here.literal("word", of: specimen) == confirmed)
        let rejection = try #require(try await lab.here.store.rejections().first)
        #expect(rejection.mine["word"]?.string.map { Array($0.utf8) } == [97, 0, 99])
        try await lab.here.store.retry(rejection)
        try await lab.sync()
        #expect(try await lab.there.literal("word", of: specimen) == "CAST(X'610063' AS TEXT)")
    }

    @Test func `W10 a number is whole or fractional as SQLite stores it in the column`() async throws {
        let (lab, specimen) = (try Specimens(), Specimen())
        try await lab.here.store.write { try specimen.insert($0) }
        try await lab.here.set("anything", "5.0", in: specimen)
        try await lab.here.set("amount", "5.0", in: specimen)
        try await lab.here.set("ratio", "5", in: specimen)
        try await lab.sync()
        for device in [lab.here, lab.there] {
            #expect(try await device.literal("anything", of: specimen) == "5.0")
            #expect(try await device.literal("amount", of: specimen) == "5")
            #expect(try await device.literal("ratio", of: specimen) == "5.0")
        }
    }
}
