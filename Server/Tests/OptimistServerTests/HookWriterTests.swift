// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistCore
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// What the hook learns of a group's sender.
@Suite(.timeLimit(.minutes(20)))
struct HookWriterTests {
    private let site = Site()

    private func create(_ type: String, _ id: String, _ row: JSON, in account: String) -> (String, JSON) {
        ("\(type)/set", ["accountId": .string(account), "create": [id: row]])
    }

    private func list(_ number: Int, in space: String?, _ account: String) -> (String, JSON) {
        create("List", RowKey.list(number).id, ServedSpace.list(space), in: account)
    }

    @Test func `G4 the hook learns the space, and the role that the writer has at that moment`() async throws {
        let seen = Mutex<[String]>([])
        let hook = GroupHook(deadline: .seconds(600)) { group in
            guard case .person = group.writer else { return [] }
            let text = [
                group.rows.first?.key.type, group.space == ServedSpace.space ? "space" : group.space, group.role,
            ]
            let line = text.map { $0 ?? "-" }.joined(separator: " ")
            // The server may ask about a group again.
            seen.withLock { if $0.last != line { $0.append(line) } }
            return []
        }
        try await site.serving(schema: ServedSpace.schema, change: { $0.hook = hook }) { server, http async throws in
            let (ann, bob) = (try await http.signUp(), try await http.signUp("bob@example.org"))
            let space = ServedSpace.account
            func call(_ person: Person, _ call: (String, JSON)) async throws {
                let answer = try await server.call(person, call.0, call.1)
                #expect(answer["notCreated"] == .null && answer["notUpdated"] == .null, "\(answer)")
            }
            let member: JSON = ["space": .string(ServedSpace.space), "name": "Ann", "role": "owner"]
            try await call(ann, create("optimist_member", ServedSpace.annRow, member, in: space))
            let invitation: JSON = [
                "space": .string(ServedSpace.space), "role": "writer", "label": "L", "uses": 1,
                "hash": .string(ServedSpace.secret(1).hash),
            ]
            try await call(ann, create("optimist_invitation", RowKey.id(0x101), invitation, in: space))
            let ticket: JSON = [
                "space": .string(ServedSpace.space), "name": "Bob", "ticket": .string(ServedSpace.secret(1).text),
            ]
            try await call(bob, create("optimist_member", ServedSpace.bobRow, ticket, in: space))
            try await call(bob, list(1, in: ServedSpace.space, space))
            let raised: JSON = ["accountId": .string(space), "update": [ServedSpace.bobRow: ["role": "owner"]]]
            try await call(ann, ("optimist_member/set", raised))
            try await call(bob, list(2, in: ServedSpace.space, space))
            try await call(bob, list(3, in: nil, bob.account))
        }
        #expect(
            seen.withLock(\.self) == [
                "optimist_member space owner", "optimist_invitation space owner", "optimist_member space writer",
                "List space writer", "optimist_member space owner", "List space owner", "List - -",
            ])
    }
}
