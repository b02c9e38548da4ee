// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Which requests are never refused for their time.
@Suite(.timeLimit(.minutes(20)))
struct WorkBudgetTests {
    let site = Site()

    /// Contacts with two unique values and three references, which differ from row to row.
    private static let contacts: Schema = {
        let reference = ColumnSchema(.ref, target: "place", onDelete: .cascade)
        return Schema(
            id: "contacts",
            types: [
                "place": TypeSchema(columns: ["name": ColumnSchema(.string)]),
                "contact": TypeSchema(
                    columns: [
                        "email": ColumnSchema(.string), "phone": ColumnSchema(.string), "note": ColumnSchema(.string),
                        "home": reference, "work": reference, "birth": reference,
                    ],
                    uniqueIndexes: [UniqueIndex(["email"]), UniqueIndex(["phone"])]),
            ])
    }()

    private static func contact(_ number: Int, _ mark: String) -> JSON {
        [
            "email": .string("\(mark)\(number)"), "phone": .string("\(mark)\(number)"),
            "note": .string(String(repeating: "x", count: 500)), "home": .string(RowKey.id(3 * number)),
            "work": .string(RowKey.id(3 * number + 1)), "birth": .string(RowKey.id(3 * number + 2)),
        ]
    }

    /// A server on a machine that always exceeds its time limit.
    private func open() async throws -> OptimistServer {
        let seconds = Mutex(0)
        return try await site.open(schema: Self.contacts) { configuration in
            configuration.workBudget = WorkBudget(.zero) {
                seconds.withLock {
                    $0 += 1
                    return .seconds($0)
                }
            }
        }
    }

    @Test func `S9 M2 a delete that cascades to 6,000 rows is never refused on a slow machine`()
        async throws
    {
        let server = try await open()
        let person = try await server.signUp()
        func set(_ type: String, _ arguments: JSON) async throws -> SetAnswer {
            try #require(SetAnswer(json: await server.call(person, "\(type)/set", arguments)))
        }
        _ = try await set("place", ["create": [RowKey.id(0): ["name": "p"]]])
        let home = JSON.string(RowKey.id(0))
        for start in stride(from: 1, through: 6_000, by: 1_000) {
            let rows = (start..<start + 1_000).map { number -> (String, JSON) in
                let mark = JSON.string("a\(number)")
                return (
                    RowKey.id(number), ["email": mark, "phone": mark, "home": home, "work": home, "birth": home]
                )
            }
            #expect(try await set("contact", ["create": .object(JSONObject(rows))]).created.count == 1_000)
        }
        #expect(try await set("place", ["destroy": [home]]).destroyed == [RowKey.id(0)])
        #expect(try await server.rows(account: person.account, type: "contact").isEmpty)
    }

    @Test func `S9 a call with as many rows as the session allows is never refused on a slow machine`()
        async throws
    {
        let server = try await open()
        let person = try await server.signUp()
        let session = try await server.routes.service.session(account: person.account, username: "").json
        let count = try #require(session["capabilities"]?[RowSync.core]?["maxObjectsInSet"]?.int.map(Int.init))
        func set(_ type: String, _ member: String, _ row: (Int) -> JSON) async throws -> SetAnswer {
            let rows = (0..<count).map { (RowKey.id($0 + (type == "place" ? 0 : 10_000)), row($0)) }
            let answer = try await server.call(person, "\(type)/set", [member: .object(JSONObject(rows))])
            return try #require(SetAnswer(json: answer))
        }
        // Each contact has three references, and most places are named by three contacts.
        func contact(_ mark: String) -> (Int) -> JSON { { Self.contact($0 % (count / 3), "\(mark)\($0)-") } }
        #expect(try await set("place", "create") { _ in ["name": "p"] }.created.count == count)
        #expect(try await set("contact", "create", contact("a")).created.count == count)
        #expect(try await set("contact", "update", contact("b")).updated.count == count)
    }

    @Test func `S9 a group of 1,000 rows is never refused on a slow machine`() async throws {
        let server = try await open()
        let person = try await server.signUp()
        func push(_ calls: [(String, JSON)], _ number: Int64, groups: [[String]] = []) async throws -> [SetAnswer] {
            let answers = try await server.call(person, calls, push: number, groups: groups)
            return try answers.map { try #require(SetAnswer(json: $0.arguments)) }
        }
        func rows(_ numbers: Range<Int>, _ make: (Int) -> JSON) -> JSON {
            .object(JSONObject(numbers.map { (RowKey.id($0), make($0)) }))
        }
        _ = try await push([("place/set", ["create": rows(0..<3000) { _ in ["name": "p"] }])], 1)
        let contacts = (10_000..<11_000)
        let group = contacts.map { "contact:\(RowKey.id($0))" }
        func all(_ mark: String) -> JSON { rows(contacts) { Self.contact($0 - 10_000, mark) } }
        let created = try await push([("contact/set", ["create": all("a")])], 2, groups: [group])
        #expect(created[0].created.count == 1000)
        let updated = try await push([("contact/set", ["update": all("b")])], 3, groups: [group])
        #expect(updated[0].updated.count == 1000)
        let one = rows(5..<6) { _ in ["email": "c0"] }
        let collided = try await push(
            [("contact/set", ["update": all("c")]), ("contact/set", ["create": one])], 4, groups: [group])
        #expect(collided[0].updated.count == 1000)
        let ids = JSON.array(contacts.map { .string(RowKey.id($0)) })
        let destroyed = try await push([("contact/set", ["destroy": ids])], 5, groups: [group])
        #expect(destroyed[0].destroyed.count == 1000)
    }
}
