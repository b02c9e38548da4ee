// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Rows that an operator imports.
@Suite(.timeLimit(.minutes(20)))
struct ImportTests {
    private let site = Site()
    private static let exported: Int64 = 1_700_000_000_000

    private func serving(
        change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (OptimistServer, HTTPSide) async throws -> Void
    ) async throws {
        try await site.serving(schema: ServedSpace.schema, change: change, body)
    }

    private func batch(
        _ lines: [String], _ type: String = "List", by key: ImportBatch.AccountKey = .email, isDryRun: Bool = false,
        isText: Bool = false, at milliseconds: Int64 = Self.exported
    ) -> ImportBatch {
        var batch = ImportBatch(
            run: "1", type: type, accountKey: key, issuer: nil, accountColumn: "account", idColumn: "id",
            milliseconds: milliseconds, isDryRun: isDryRun, isText: isText)
        batch.lines = lines.enumerated().map { ImportBatch.Line(number: $0 + 1, text: $1) }
        return batch
    }

    private func rows(_ type: String, of person: Person, on server: OptimistServer) async throws -> [String: JSON] {
        let answer = try await server.call(person, "\(type)/get", ["ids": .null])
        return Dictionary(
            uniqueKeysWithValues: (answer["list"]?.array ?? []).map { ($0["id"]?.string ?? "", $0) })
    }

    private static let names = NameUUID(namespace: [
        0xBA, 0x89, 0x03, 0x92, 0xD3, 0xA1, 0x4B, 0x98, 0x89, 0xB2, 0x82, 0x5C, 0x7C, 0xA5, 0x3D, 0xB8,
    ])

    @Test func `J1 a name's UUID is the one in RFC 9562`() {
        let dns = NameUUID(namespace: [
            0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8,
        ])
        #expect(dns.uuid(of: "www.example.com".utf8) == "2ed6657d-e927-568b-95e1-2665a8aea6a2")
    }

    @Test func `J1 rows name their account and each other as the file does`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let lists = [#"{"account": "ANN@example.org", "id": "l1", "name": "One"}"#]
            #expect(try await server.imports.carryOut(batch(lists)).written == 1)
            let own = RowKey.id(7).uppercased()
            let todos = [
                #"{"account": "ann@example.org", "id": 1, "content": "a", "listId": "l1"}"#,
                #"{"account": "ann@example.org", "id": "\#(own)", "content": "b"}"#,
                #"{"account": "ann@example.org", "content": "c"}"#, #"{"account": "ann@example.org", "content": "c"}"#,
            ]
            let report = try await server.imports.carryOut(batch(todos, "Todo"))
            #expect(report.refused.isEmpty)
            let list = Self.names.uuid(of: "List/l1".utf8)
            #expect(try await Set(rows("List", of: ann, on: server).keys) == [list])
            let found = try await rows("Todo", of: ann, on: server)
            #expect(found.count == 3, "equal rows without ids are one row")
            #expect(found[Self.names.uuid(of: "Todo/1".utf8)]?["listId"] == .string(list))
            #expect(found[RowKey.id(7)]?["content"] == "b")
        }
    }

    @Test func `J1 an account is named by its id, also a space, and its devices hear of the rows`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let space = RowKey.id(0xABC)
            _ = try await server.carryOut(
                .space(.create(space: space, isPublic: true, owner: "ann@example.org", name: "News")))
            var hasImported = false
            try await http.events(token: ann.access) { event, data async throws in
                if event == "state", !hasImported {
                    hasImported = true
                    let lines = [
                        #"{"account": "\#(ann.account)", "id": "1", "name": "own"}"#,
                        #"{"account": "\#(space)", "id": "1", "name": "shared", "space": "\#(space)"}"#,
                        #"{"account": "\#(space)", "id": "2", "name": "lost"}"#,
                    ]
                    let report = try await server.imports.carryOut(batch(lines, by: .column))
                    #expect(report.written == 2)
                    #expect(report.refused.map(\.line) == [3] && report.refused[0].code == "crossesSpaces")
                    await site.sleepers(atLeast: 1)
                    site.clock.advance(by: .milliseconds(50))
                    return false
                }
                return hasImported && data["changed"]?[ann.account]?["List"] != nil
            }
            #expect(try await rows("List", of: ann, on: server).values.map { $0["name"] } == ["own"])
        }
    }

    @Test func `J2 an import again changes nothing, and keeps later edits, deletions and newer imports`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let ids = (1...3).map(RowKey.id)
            let lines = ids.map { #"{"account": "ann@example.org", "id": "\#($0)", "name": "old"}"# }
            #expect(try await server.imports.carryOut(batch(lines)).written == 3)
            let before = try await server.call(ann, "List/get", ["ids": .null])["state"]
            for time in [Self.exported, Self.exported + 1000] {
                let again = try await server.imports.carryOut(batch(lines, at: time))
                #expect(again.written == 0 && again.unchanged == 3)
            }
            #expect(try await server.call(ann, "List/get", ["ids": .null])["state"] == before)

            _ = try await server.call(ann, "List/set", ["update": .object([ids[0]: ["name": "a device's"]])])
            _ = try await server.call(ann, "List/set", ["destroy": [.string(ids[1])]])
            let later = try await server.imports.carryOut(batch(lines))
            #expect(later.written == 0 && later.unchanged == 2 && later.gone == 1)
            let newer = lines.map { $0.replacing("old", with: "new") }
            let changed = try await server.imports.carryOut(batch(newer, at: Self.exported + 1))
            #expect(changed.written == 1 && changed.unchanged == 1 && changed.gone == 1)
            let older = try await server.imports.carryOut(batch(lines))
            #expect(older.written == 0)
            let found = try await rows("List", of: ann, on: server)
            #expect(found.mapValues { $0["name"] } == [ids[0]: "a device's", ids[2]: "new"])
        }
    }

    @Test func `J2 a time in the future counts as now, so that a device can still edit the row`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let lines = [#"{"account": "ann@example.org", "id": "\#(RowKey.id(1))", "name": "import"}"#]
            _ = try await server.imports.carryOut(batch(lines, at: 4_000_000_000_000))
            site.advance(by: 1)
            _ = try await server.call(ann, "List/set", ["update": .object([RowKey.id(1): ["name": "device"]])])
            #expect(try await rows("List", of: ann, on: server)[RowKey.id(1)]?["name"] == "device")
        }
    }

    @Test func `J4 each row that breaks a rule is reported with its line, and a dry run stores nothing`() async throws {
        let hook = GroupHook(deadline: .seconds(600)) { group in
            if group.writer != .server { throw RowFault("notTheServer", "Another writer.") }
            if group.rows.contains(where: { $0.after?["name"] == "forbidden" }) {
                throw RowFault("forbidden", "No.")
            }
            return []
        }
        try await serving(change: { $0.hook = hook }) { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let lines = [
                #"{"account": "ann@example.org", "id": "1", "name": "good"}"#, "[]", "{",
                #"{"account": "ann@example.org", "id": "2"}"#, #"{"id": "3", "name": "x"}"#,
                #"{"account": "eve@example.org", "name": "x"}"#, #"{"account": "no address", "name": "x"}"#,
                #"{"account": "ann@example.org", "name": 1}"#, #"{"account": "ann@example.org", "name": "x", "y": 1}"#,
                #"{"account": "ann@example.org", "name": "\#(String(repeating: "x", count: 101))"}"#,
                #"{"account": "ann@example.org", "id": "5", "name": "forbidden"}"#,
                #"{"account": "ann@example.org", "id": "6", "name": "also good"}"#,
            ]
            let codes = [
                2: "notJSON", 3: "notJSON", 4: "invalidProperties", 5: "accountNotFound", 6: "accountNotFound",
                7: "accountNotFound", 8: "invalidProperties", 9: "invalidProperties", 10: "tooLarge",
                11: "forbidden",
            ]
            for isDryRun in [true, false] {
                let report = try await server.imports.carryOut(batch(lines, isDryRun: isDryRun))
                #expect(report.written == 2)
                #expect(Dictionary(uniqueKeysWithValues: report.refused.map { ($0.line, $0.code) }) == codes)
                #expect(try await rows("List", of: ann, on: server).count == (isDryRun ? 0 : 2))
            }
            for type in ["Unknown", "optimist_member"] {
                let error = await #expect(throws: OptimistError.self) {
                    _ = try await server.imports.carryOut(batch([], type))
                }
                #expect(error?.code == .badImport)
            }
        }
    }

    @Test func `J4 a dry run counts the references that it cannot check, and the import refuses them`() async throws {
        try await serving { server, http async throws in
            _ = try await http.signUp("ann@example.org")
            let lines = [#"{"account": "ann@example.org", "id": "1", "content": "a", "listId": "missing"}"#]
            let dry = try await server.imports.carryOut(batch(lines, "Todo", isDryRun: true))
            #expect(dry.waiting == 1 && dry.refused.isEmpty)
            let report = try await server.imports.carryOut(batch(lines, "Todo"))
            #expect(report.refused.map(\.code) == ["blocked"] && report.waiting == 0)
        }
    }

    /// Refuses the lines whose row an earlier line has, as the command does.
    private func withoutRepetitions(_ batch: ImportBatch) -> ImportBatch {
        var (checked, named) = (batch, NamedRows())
        for place in checked.lines.indices { named.check(&checked.lines[place], of: batch) }
        return checked
    }

    @Test func `J2 the first line of an id counts, so that a second import changes nothing`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            let names: [JSON] = ["b", "a", 7, "c"]
            let lines = names.map { #"{"account": "ann@example.org", "id": "1", "name": \#($0)}"# }
            for (time, written) in [(Self.exported, 1), (Self.exported, 0), (Self.exported + 1000, 0)] {
                let report = try await server.imports.carryOut(withoutRepetitions(batch(lines, at: time)))
                #expect(report.written == written && report.unchanged == 1 - written)
                #expect(
                    report.refused.map(\.line) == [2, 3, 4] && report.refused.allSatisfy { $0.code == "duplicate" })
                #expect(try await rows("List", of: ann, on: server).values.map { $0["name"] } == ["b"])
            }
        }
    }

    @Test func `J2 lines have the same row if they write its account and its id differently`() {
        func repeated(_ lines: [String], by key: ImportBatch.AccountKey = .email) -> [Int] {
            withoutRepetitions(batch(lines, by: key)).lines.filter { $0.fault != nil }.map(\.number)
        }
        let derived = Self.names.uuid(of: "List/1".utf8)
        #expect(
            repeated([
                #"{"account": "ann@example.org", "id": "1"}"#, #"{"account": "Ann@Example.org ", "id": 1}"#,
                #"{"account": "eve@example.org", "id": "1"}"#, #"{"account": "ann@example.org", "id": "2"}"#,
                #"{"account": "ann@example.org", "id": "\#(derived.uppercased())"}"#, "[]", "{", "[]", #"{"id": "1"}"#,
                #"{"account": "ann@example.org"}"#, #"{"account": "ann@example.org"}"#,
            ]) == [2, 5])
        let space = RowKey.id(0xABC)
        let account = SpaceAccount.id(ofSpace: space) ?? ""
        let lines = [space, space.uppercased(), account, "a1", "A1"].map { #"{"account": "\#($0)", "id": "1"}"# }
        #expect(repeated(lines, by: .column) == [2, 3])
        #expect(repeated(lines, by: .identity).isEmpty)
    }

    @Test func `J4 a line with a fault is refused in its place`() async throws {
        try await serving { server, http async throws in
            _ = try await http.signUp("ann@example.org")
            var batch = batch(["", #"{"account": "ann@example.org", "name": "good"}"#, "{"])
            batch.lines[0] = ImportBatch.Line(number: 1, fault: ImportBatch.Fault(code: "notUTF8", message: "No."))
            let report = try await server.imports.carryOut(batch)
            #expect(report.written == 1 && report.refused.map(\.code) == ["notUTF8", "notJSON"])
            #expect(report.refused[0] == .init(line: 1, code: "notUTF8", message: "No."))
        }
    }
}
