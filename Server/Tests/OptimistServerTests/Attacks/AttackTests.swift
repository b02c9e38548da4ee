// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// People who try everything that a client can send, with every id known to them.
@Suite(.timeLimit(.minutes(30)))
struct AttackTests {
    private let site = Site()

    /// Runs a server whose limits do not end the attack early.
    private func attacking(_ body: (AttackScene) async throws -> Void) async throws {
        let change: (inout ServerConfiguration) -> Void = { configuration in
            (configuration.signInBurstPerAddress, configuration.signInBurstPerAccount) = (1_000_000, 1_000_000)
        }
        try await site.serving(schema: ServedSpace.schema, change: change) { server, http async throws in
            let scene = try await AttackScene(site, server, http)
            try await scene.begin()
            try await body(scene)
        }
    }

    private static let closed = Ticket.allCases.filter { $0 != .open }

    // MARK: - Strangers

    @Test func `P7 P8 no request of a stranger or a former member reads or changes a space, or shows that it exists`()
        async throws
    {
        try await attacking { scene async throws in
            try await scene.end()
            let attacks: [(AttackedSpace, AttackedSpace, AttackScene.Role, [Ticket])] = [
                (.home, .nowhere, .outsider, Self.closed), (.home, .bare, .removed, Ticket.allCases),
                (.home, .bare, .left, Self.closed), (.club, .nowhere, .reader, Self.closed),
                (.club, .nowhere, .writer, Self.closed),
            ]
            var attack = try Attack(scene)
            for (space, twin, role, tickets) in attacks {
                for attempt in Attempt.all(with: tickets) {
                    try await attack.strike(space, like: twin, as: role, attempt)
                }
            }
            for attempt in Attempt.halfJoins() {
                try await attack.strike(.home, like: .nowhere, as: .outsider, attempt)
            }
            #expect(attack.count >= 500)
            print("\(attack.count) attempts of strangers and former members")
            // The members still have everything, and a valid ticket opens the space.
            try await scene.addList(3, to: .home)
            try await scene.send([AttackedSpace.home.joining(.open, row: RowKey.id(0xE0F))], as: .outsider)
            let read = try await scene.send([AttackedSpace.home.call("List/get", ["ids": .null])], as: .outsider)
            #expect(read[0].arguments["list"]?.array?.count == 3)
        }
    }

    @Test func `P7 O4 no route gives a person without a right to a space anything of it, by any method`() async throws {
        try await attacking { scene async throws in
            try await scene.end()
            var attack = try Attack(scene)
            for role in [nil, AttackScene.Role.outsider, .removed, .left] {
                for route in RouteAttempt.all(in: scene) { try await attack.strike(route, as: role) }
            }
            #expect(attack.count >= 500)
            print("\(attack.count) attempts on routes")
        }
    }

    @Test func `P7 a preview answers alike for a wrong, used, ended and revoked ticket, a hash, and no space`()
        async throws
    {
        try await attacking { scene async throws in
            try await scene.end()
            var answers: Set<String> = []
            for space in [AttackedSpace.home, .club, .bare, .nowhere] {
                for ticket in Self.closed {
                    let body: JSON = ["space": .string(space.space), "secret": .string(ticket.text)]
                    let answer = try await scene.http.post("/spaces/invitation", body)
                    answers.insert(AttackJudge.plain(answer, about: space, "none", scene.server.epoch))
                }
            }
            #expect(answers.count == 1 && answers.first?.hasPrefix("404 ") == true)
            let open: JSON = ["space": .string(AttackedSpace.home.space), "secret": .string(Ticket.open.text)]
            #expect(try await scene.http.post("/spaces/invitation", open).json["label"] == "zqlabel")
        }
    }

    // MARK: - Members

    @Test(arguments: [AttackScene.Role.reader, .writer])
    func `P6 the writes that a role allows change the space, and other writes change nothing`(
        role: AttackScene.Role
    ) async throws {
        try await attacking { scene async throws in
            try await scene.end()
            var attack = try Attack(scene)
            let own = role == .reader ? AttackedSpace.readerRow : AttackedSpace.writerRow
            for attempt in Attempt.reads() { try await attack.look(role, attempt) }
            for attempt in RoleAttempt.all(of: role, own: own) { try await attack.try(role, attempt) }
            #expect(attack.count >= 150)
            #expect(attack.changes >= (role == .writer ? 15 : 3))
            print(
                "\(attack.count) attempts of a \(role), of which \(attack.changes) were allowed and changed the space")
            let members = try await scene.server.storage.rows.read(account: AttackedSpace.home.account, as: .operator) {
                try $0.members()
            }
            let roles = Dictionary(members.map { ($0.person, $0.role.rawValue) }, uniquingKeysWith: { $1 })
            #expect(
                roles == [
                    try scene.person(.owner).account: "owner", try scene.person(.reader).account: "reader",
                    try scene.person(.writer).account: "writer",
                ])
        }
    }

    // MARK: - Streams

    @Test func `P8 a stream from before the removal carries nothing of the space after it, and a stranger's nothing`()
        async throws
    {
        try await attacking { scene async throws in
            let home = AttackedSpace.home.account
            for role in [AttackScene.Role.removed, .outsider] {
                let person = try scene.person(role)
                var (heard, fence): ([JSON], String?) = ([], nil)
                try await scene.http.events(token: person.access) { _, data in
                    heard.append(data)
                    if fence == nil {
                        #expect((data["changed"]?[home] != nil) == (role == .removed))
                        if role == .removed { try await scene.end() }
                        for number in 3...5 { try await scene.addList(number + (role == .removed ? 0 : 3), to: .home) }
                        let memo: JSON = ["create": [RowKey.id(0xF0F): ["text": "fence"]]]
                        fence = try await scene.server.call(person, "Memo/set", memo)["newState"]?.string
                    }
                    if data["changed"]?[person.account]?["Memo"]?.string == fence { return true }
                    await site.sleepers(atLeast: 1)
                    site.clock.advance(by: .milliseconds(50))
                    return false
                }
                let text = heard.map(\.description).joined()
                #expect(!text.contains("77000"), "\(text)")
                #expect(role == .removed || !text.contains(home))
            }
        }
    }
}
