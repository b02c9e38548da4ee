// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// The database's work for a stranger. It must not show whether a space exists, or why a ticket is not valid.
///
/// The time of an answer depends on the statements and on waiting for locks, and both can be counted.
@Suite(.timeLimit(.minutes(20)))
struct EqualWorkTests {
    /// The texts of the statements so far.
    private final class Statements: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ statement: String) { all.withLock { $0.append(statement) } }

        /// The statements since the last call.
        func take() -> [String] {
            all.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    private let statements: Statements
    private let server: ServedSpace
    /// Keeps the store's file.
    private let file: StoreFile?
    /// A second connection to the database, if the store is not embedded.
    private let other: PostgresConnection?
    private static let nowhere = RowKey.id(0xDEF)
    private static let end = ServedSpace.now.addingTimeInterval(60)

    init() async throws {
        let statements = Statements()
        let clock = Mutex(ServedSpace.now)
        let store: any SyncStore
        if SharedDatabase.isUsed {
            let database = try SharedDatabase.make()
            store = try await StorePlace.open(
                database, epoch: "e1", schema: ServedSpace.schema, accounts: ServedSpace.people,
                trace: { statements.add($0) })
            (file, other) = (nil, try PostgresConnection(database.url))
        } else {
            let file = try StoreFile()
            let opened = try file.open(epoch: "e1", accounts: ServedSpace.people)
            // Without group commit, all requests use the writer's connection or the same reader's.
            try Self.trace(opened.database.pool) { statements.add($0) }
            store = SQLiteSyncStore(opened.database, commits: nil)
            (self.file, other) = (file, nil)
        }
        self.statements = statements
        server = ServedSpace(on: store, now: { clock.withLock(\.self) })
        _ = try await server.found()
        for number in 1...3 {
            let end: JSONObject = number == 2 ? ["endsAt": .string(Self.end.formatted(.iso8601))] : [:]
            #expect(try await server.invite(UInt8(number), end) == [:])
        }
        #expect(try await server.join() == [:])
        _ = try await server.set(server.types.invitation, ["destroy": [.string(RowKey.id(0x103))]], as: "ann")
        clock.withLock { $0 = Self.end }
        // The first request of a person, and the first of each kind, may prepare statements.
        for _ in 1...2 { for space in [ServedSpace.space, Self.nowhere] { _ = try await work(of: asking(space)) } }
    }

    private static func trace(_ pool: DatabasePool, _ note: @escaping @Sendable (String) -> Void) throws {
        try pool.read { $0.trace { note("\($0)") } }
        pool.writeWithoutTransaction { $0.trace { note("\($0)") } }
    }

    // MARK: - Requests

    private func account(_ space: String) -> String { SpaceAccount.id(ofSpace: space) ?? "" }

    /// Everything that a stranger may ask about a space, without a ticket and without founding it.
    private func asking(_ space: String) -> [[Invocation]] {
        let account = account(space)
        let own = JSON.string("eve")
        let copy: JSONObject = [
            "fromAccountId": own, "onSuccessDestroyOriginal": true,
            "create": [RowKey.list(1).id: ["id": .string(RowKey.list(1).id)]],
        ]
        return [
            [server.call("List/get", ["ids": .null], in: account)],
            [server.call("List/changes", ["sinceState": "e1.0", "inline": true], in: account)],
            [server.call("List/changes", ["inline": true, "snapshot": [:]], in: account)],
            [server.call("List/set", ServedSpace.lists(1, space), in: account)],
            [
                server.call("List/set", ServedSpace.lists(1, nil), in: "eve"),
                server.call("List/copy", copy, in: account),
            ],
            [Invocation("RowSync/changed", ["states": [account: "e1.0"]], callID: "0")],
        ]
    }

    private func work(of requests: [[Invocation]], push: Int64? = nil) async throws -> [[String]] {
        var work: [[String]] = []
        for request in requests {
            _ = statements.take()
            _ = try await server.send(request, as: "eve", push: push)
            work.append(statements.take())
        }
        return work
    }

    // MARK: - Statements

    @Test func `P7 a stranger's request takes the same statements for a space as for no space`() async throws {
        for push in [nil, Int64(1)] {
            let found = try await work(of: asking(ServedSpace.space), push: push)
            #expect(found.allSatisfy { !$0.isEmpty })
            #expect(found == (try await work(of: asking(Self.nowhere), push: push)))
        }
        // A member's request takes others.
        _ = statements.take()
        _ = try await server.send([server.call("List/get", ["ids": .null])], as: "ann")
        #expect(try await work(of: [asking(ServedSpace.space)[0]])[0] != statements.take())
    }

    @Test func `P9 a ticket takes the same statements if it is wrong, used, ended or revoked, and for no space`()
        async throws
    {
        var (joins, looks): (Set<[String]>, Set<[String]>) = ([], [])
        for space in [ServedSpace.space, Self.nowhere] {
            for number in [UInt8(9), 1, 2, 3] {
                let join = server.joining(number, row: RowKey.id(0xE), in: account(space), space: space)
                joins.insert(try await work(of: [[join]])[0])
                _ = statements.take()
                let secret = ServedSpace.secret(number).text
                #expect(try await server.service.invitation(to: space, secret: secret) == nil)
                looks.insert(statements.take())
            }
        }
        #expect(joins.count == 1 && looks.count == 1, "\(joins) \(looks)")
        #expect(!joins.contains([]) && !looks.contains([]))
        // A valid ticket takes more.
        #expect(try await server.invite(4) == [:])
        _ = statements.take()
        #expect(try await server.service.invitation(to: ServedSpace.space, secret: ServedSpace.secret(4).text) != nil)
        #expect(!looks.contains(statements.take()))
    }

    // MARK: - Locks

    /// The accounts that no other transaction can lock.
    private func locked() throws -> Set<String> {
        guard let other else { return [] }
        func ids(_ sql: String) throws -> [String] { try other.query(SharedDatabase.Statement(sql: sql), []).texts }
        let all = "SELECT account_id FROM optimist_accounts"
        return Set(try ids(all)).subtracting(try ids("\(all) FOR UPDATE SKIP LOCKED"))
    }

    @Test(.postgres) func `P7 a stranger's request locks no row of a space, and so waits for none of its writers`()
        async throws
    {
        func locks(of person: String, _ entrances: Entrances = .none) async throws -> Set<String> {
            let asked: Set = [ServedSpace.account, person]
            return try await server.store.write(accounts: asked, as: .person(person), entering: entrances) { _ in
                try self.locked()
            }
        }
        func ticket(_ number: UInt8) -> Entrances {
            var entrances = Entrances()
            entrances.tickets = [ServedSpace.account: [IndexKey("[\"\(ServedSpace.secret(number).hash)\"]")]]
            entrances.now = Self.end
            return entrances
        }
        #expect(try await locks(of: "eve") == ["eve"])
        // Wrong, used, ended and revoked.
        for number in [UInt8(9), 1, 2, 3] { #expect(try await locks(of: "eve", ticket(number)) == ["eve"]) }
        #expect(try await server.invite(4) == [:])
        #expect(try await locks(of: "eve", ticket(4)) == ["eve", ServedSpace.account])
        #expect(try await locks(of: "eve", Entrances(founding: [ServedSpace.account])) == ["eve"])
        #expect(try await locks(of: "ann") == ["ann", ServedSpace.account])
    }
}
