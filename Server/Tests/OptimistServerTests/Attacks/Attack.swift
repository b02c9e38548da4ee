// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Carries out attempts one after another, and records an issue for each that was not repelled.
struct Attack {
    private let scene: AttackScene
    private let judge: AttackJudge
    private var before: StoredTables.Contents
    private var number = 0
    /// The attempts so far. An attempt on two spaces counts once.
    private(set) var count = 0
    /// The allowed writes that changed the space.
    private(set) var changes = 0

    init(_ scene: AttackScene) throws {
        self.scene = scene
        judge = try AttackJudge(scene)
        before = try scene.tables.contents()
    }

    private struct Sent {
        var request: String
        var answer: HTTPSide.Answer
        /// In a form that is the same for two spaces.
        var plain: String
    }

    private mutating func send(_ attempt: Attempt, to space: AttackedSpace, as sender: Person) async throws -> Sent {
        number += 1
        let row = RowKey.id(0xD0_0000 + number)
        let facts = Attempt.Sender(account: sender.account, row: row, epoch: scene.server.epoch)
        let body = attempt.body(to: space, from: facts, push: Int64(number))
        let answer = try await scene.http.post("/jmap", body, token: sender.access)
        return Sent(
            request: String(decoding: body, as: UTF8.self), answer: answer,
            plain: AttackJudge.plain(answer, about: space, row, facts.epoch))
    }

    // MARK: - Without a right

    /// Tries something on a space that the sender has no right to.
    ///
    /// - Parameter twin: A space about which the answer must be the same, because the sender knows as much of it.
    mutating func strike(
        _ space: AttackedSpace, like twin: AttackedSpace, as role: AttackScene.Role, _ attempt: Attempt
    ) async throws {
        let sender = try scene.person(role)
        var expected: String?
        // To found a space that does not exist is allowed.
        if !attempt.isInvited, !attempt.founds || twin != .nowhere {
            if attempt.settles { _ = try await send(attempt, to: twin, as: sender) }
            expected = try await send(attempt, to: twin, as: sender).plain
        }
        if attempt.settles { _ = try await send(attempt, to: space, as: sender) }
        let sent = try await send(attempt, to: space, as: sender)
        count += 1
        let name = "\(role) on \(space == .club ? "club" : "home"): \(attempt.name)"
        if let expected { #expect(sent.plain == expected, "[differs] \(name)") }
        try expectRepelled(sent.answer, to: sent.request, of: sender, name)
    }

    /// Tries a route, once with the ids of a space and once with the ids of its twin.
    mutating func strike(_ route: RouteAttempt, as role: AttackScene.Role?) async throws {
        let sender = try role.map { try scene.person($0) }
        func send(to space: AttackedSpace) async throws -> (request: String, answer: HTTPSide.Answer) {
            let hasBody = route.method != "GET" && route.method != "HEAD"
            let body: JSON? = hasBody ? .some(route.body(space)) : .none
            let answer = try await scene.http.send(
                route.method, route.path(space), token: sender?.access,
                headers: ["content-type": "application/json"], body: body?.bytes)
            return (route.path(space) + (body?.description ?? ""), answer)
        }
        let epoch = scene.server.epoch
        let twin = role == .removed || role == .left ? AttackedSpace.bare : .nowhere
        let expected = AttackJudge.plain(try await send(to: twin).answer, about: twin, "none", epoch)
        let sent = try await send(to: .home)
        count += 1
        let name = "\(role?.rawValue ?? "guest") on \(route.method) \(route.path(.home))"
        #expect(AttackJudge.plain(sent.answer, about: .home, "none", epoch) == expected, "[differs] \(name)")
        if sender == nil, !route.isPublic { #expect((400...499).contains(sent.answer.status), "[let in] \(name)") }
        try expectRepelled(sent.answer, to: sent.request, of: sender, name)
    }

    private mutating func expectRepelled(
        _ answer: HTTPSide.Answer, to request: String, of sender: Person?, _ name: String
    ) throws {
        #expect(answer.status < 500, "[failed] \(name)")
        let leaks = judge.leaks(in: answer, to: request, of: sender)
        #expect(leaks.isEmpty, "[leaked] \(name): \(String(decoding: answer.body.prefix(1_000), as: UTF8.self))")
        let after = try scene.tables.contents()
        for account in Set(before.keys).union(after.keys) where account != sender?.account {
            #expect(before[account] == after[account], "[changed] \(name)")
        }
        before = after
    }

    // MARK: - With a role

    /// Reads in the sender's space, which is allowed.
    mutating func look(_ role: AttackScene.Role, _ attempt: Attempt) async throws {
        let sender = try scene.person(role)
        let sent = try await send(attempt, to: .home, as: sender)
        count += 1
        let answers = try #require(Response(json: sent.answer.json)).methodResponses
        if !attempt.name.contains("query") {
            let isThere = ["List", "Todo", "optimist_member", "optimist_invitation"].contains {
                attempt.name.hasPrefix($0)
            }
            #expect(
                answers.allSatisfy { $0.error == nil || $0.error == "forked" },
                "[refused] \(attempt.name)")
            if isThere, attempt.name.hasSuffix(" get") {
                #expect("\(sent.answer.json)".contains("zq"), "[refused] \(attempt.name)")
            }
        }
        try expectKept(sent, isAllowed: false, of: sender, "\(role): \(attempt.name)")
    }

    /// Writes in the sender's space, which the role may allow.
    mutating func `try`(_ role: AttackScene.Role, _ attempt: RoleAttempt) async throws {
        let sender = try scene.person(role)
        let sent = try await send(attempt.attempt, to: .home, as: sender)
        count += 1
        let name = "\(role): \(attempt.attempt.name)"
        let errors = try Self.errors(in: sent.answer)
        switch attempt.expected {
        case .allowed: #expect(errors.isEmpty, "[refused] \(name): \(sent.answer.json)")
        case .refused(let codes):
            #expect(!errors.isEmpty && errors.isSubset(of: codes), "[let in] \(name): \(sent.answer.json)")
        }
        try expectKept(sent, isAllowed: attempt.expected == .allowed, of: sender, name)
    }

    /// The codes of the refused methods and rows.
    private static func errors(in answer: HTTPSide.Answer) throws -> Set<String> {
        var errors: Set<String> = []
        for answer in try #require(Response(json: answer.json)).methodResponses {
            if let error = answer.error { errors.insert(error) }
            for refused in ["notCreated", "notUpdated", "notDestroyed"] {
                errors.formUnion((answer.arguments[refused]?.object ?? [:]).compactMap { $0.value["type"]?.string })
            }
        }
        return errors
    }

    private mutating func expectKept(_ sent: Sent, isAllowed: Bool, of sender: Person, _ name: String) throws {
        #expect(sent.answer.status == 200, "[failed] \(name)")
        let leaks = judge.leaks(in: sent.answer, to: sent.request, of: sender, isMember: true)
        #expect(leaks.isEmpty, "[leaked] \(name): \(leaks)")
        let (home, after) = (AttackedSpace.home.account, try scene.tables.contents())
        let (old, new) = (before.withoutNotes(of: home), after.withoutNotes(of: home))
        if isAllowed, old[home] != new[home] { changes += 1 }
        for account in Set(old.keys).union(new.keys) where account != sender.account {
            if account == home, isAllowed { continue }
            #expect(old[account] == new[account], "[changed] \(name)")
        }
        before = after
    }
}
