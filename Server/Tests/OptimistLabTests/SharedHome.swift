// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistProxy
@_spi(Internals) import OptimistServing
import Testing

@testable import OptimistLab
@testable import OptimistServer

/// The lab's two people with three devices, and their server, in one process.
struct SharedHome: Sendable {
    let scene: SharingScene
    let ann: SharingPhone
    let tablet: SharingPhone
    let bob: SharingPhone

    var all: [SharingPhone] { [ann, tablet, bob] }

    static func with(_ body: (SharedHome) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // The devices run in real time here, so the server must be fast even on a busy machine.
        let scene = SharingScene(folder: folder, logger: Workbench.quiet) { configuration in
            configuration.passwordCost = .trivial
            configuration.workBudget = .unlimited
        }
        let result: Result<Void, any Error>
        do {
            let phones = try await scene.phones()
            let home = SharedHome(scene: scene, ann: phones[0], tablet: phones[1], bob: phones[2])
            result = .success(try await body(home))
        } catch { result = .failure(error) }
        await scene.end()
        try result.get()
    }

    /// Makes a space of Ann's with a list and a to-do, and invites Bob.
    func share(_ name: String, _ title: String, _ content: String) async throws -> (space: UUID, list: UUID) {
        let space = try await ann.createSpace(named: name).id
        let list = try await ann.addList(title, to: space).id
        _ = try await ann.addItem(content, to: list)
        try await invite(to: space)
        await bob.until { $0.contents(of: list) == [content] && $0.items.allSatisfy { $0.sync == "synced" } }
        return (space, list)
    }

    /// Invites Bob, who accepts when the server has the link.
    func invite(to space: UUID) async throws {
        let link = try await ann.invite(to: space, as: .writer)
        await ann.until { $0.invitations.contains { $0.link == link && $0.state == "synced" } }
        _ = try await bob.accept(code: link.code)
        await bob.until { $0.role(in: space) == .writer }
    }

    /// Bob's membership as Ann's phone shows it.
    func member(of space: UUID) async throws -> UUID {
        let shown = await ann.until { $0.members(of: space).contains("Bob") }
        return try #require(shown.members.first { $0.space == space && !$0.isMe }).id
    }
}

extension SharingPhone {
    /// Returns the first snapshot that fulfils a condition.
    @discardableResult
    func until(_ isReached: @escaping @Sendable (SharingSnapshot) -> Bool) async -> SharingSnapshot {
        for await state in store.observe({ try SharingSnapshot($0) }) {
            if let shown = try? state.get(), isReached(shown) { return shown }
        }
        Issue.record("\(identity.title) stopped before it showed the expected rows")
        return SharingSnapshot()
    }

    func go(_ profile: NetworkConditions.Profile) async throws {
        try await setNetwork(NetworkConditionsPatch(profile: profile))
    }
}

extension SharingSnapshot {
    func contents(of list: UUID) -> [String] { items.filter { $0.listID == list }.map(\.content) }
    func role(in space: UUID) -> SpaceRole? { spaces.first { $0.id == space && $0.isJoined }?.role }
    func space(of list: UUID) -> UUID? { lists.first { $0.id == list }?.space }
    func members(of space: UUID) -> [String?] { members.filter { $0.space == space }.map(\.name) }
    func isSynced(_ list: UUID) -> Bool { items.allSatisfy { $0.listID != list || $0.sync == "synced" } }
}
