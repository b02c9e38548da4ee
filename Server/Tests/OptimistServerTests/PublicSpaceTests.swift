// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Spaces that every person may read.
@Suite(.timeLimit(.minutes(20)))
struct PublicSpaceTests {
    typealias Kind = StoresTests.Kind

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    /// A server with a public space that Ann owns.
    private func server(_ kind: Kind) async throws -> ServedSpace {
        let server = try await ServedSpace(kind, at: place)
        let care = SpaceCare(store: server.store, now: { ServedSpace.now })
        #expect(try await care.create(ServedSpace.account, .publicSpace, owner: "ann", row: ServedSpace.annRow) != nil)
        return server
    }

    private func changes(_ server: ServedSpace, as person: String) async throws -> JSONObject {
        let since: JSONObject = ["sinceState": "e1.0"]
        return try await server.send([server.call("List/changes", since)], as: person)[0].arguments
    }

    @Test(arguments: Kind.allCases)
    func `P18 every person reads a public space, and only its members write`(kind: Kind) async throws {
        let server = try await server(kind)
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(try await server.set("List", ServedSpace.lists(1), as: "ann") == [:])
        for person in ["bob", "eve"] {
            #expect(try await changes(server, as: person)["newState"] == "e1.2")
            #expect(try await changes(server, as: person)["created"]?.array?.count == 1)
            let id = RowKey.list(1).id
            #expect(
                try await server.set("List", ServedSpace.lists(2), as: person) == [RowKey.list(2).id: "roleForbids"])
            #expect(try await server.set("List", ["update": [id: ["name": "x"]]], as: person) == [id: "roleForbids"])
            #expect(try await server.set("List", ["destroy": [.string(id)]], as: person) == [id: "roleForbids"])
            let member: JSONObject = ["create": [ServedSpace.bobRow: server.member("owner")]]
            let refused = try await server.set(server.types.member, member, as: person)
            #expect(refused == [ServedSpace.bobRow: "roleForbids"])
            let row = server.invitation(ServedSpace.secret(1))
            let invited = try await server.set(server.types.invitation, ["create": [RowKey.id(0x101): row]], as: person)
            #expect(invited == [RowKey.id(0x101): "roleForbids"])
        }
        #expect(try await server.memberships() == ["ann": .owner])
        #expect(try await server.rows("List") == 1)
    }

    @Test(arguments: Kind.allCases)
    func `P18 a person joins a public space with a ticket, and reads on after the removal`(kind: Kind) async throws {
        let server = try await server(kind)
        #expect(try await server.invite() == [:])
        #expect(try await server.join() == [:])
        #expect(try await server.set("List", ServedSpace.lists(1), as: "bob") == [:])
        let removal: JSONObject = ["destroy": [.string(ServedSpace.bobRow)]]
        #expect(try await server.set(server.types.member, removal, as: "ann") == [:])
        #expect(try await server.set("List", ServedSpace.lists(2), as: "bob") == [RowKey.list(2).id: "roleForbids"])
        #expect(try await changes(server, as: "bob")["newState"] != nil)
    }

    @Test(arguments: Kind.allCases)
    func `P18 who has not signed in reads no public space`(kind: Kind) async throws {
        let server = try await server(kind)
        let opened = try await server.store.read(accounts: [ServedSpace.account], as: .guest) { $0.open.count }
        #expect(opened == 0)
    }

    @Test(arguments: Kind.allCases)
    func `the id of an account is not taken by a public space`(kind: Kind) async throws {
        let server = try await server(kind)
        let care = SpaceCare(store: server.store, now: { ServedSpace.now })
        #expect(try await care.create(ServedSpace.account, .publicSpace, owner: "bob", row: ServedSpace.bobRow) == nil)
        #expect(try await server.memberships() == ["ann": .owner])
    }
}
