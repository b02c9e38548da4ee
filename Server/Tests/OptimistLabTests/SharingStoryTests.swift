// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistCore
import OptimistProxy
import OptimistSession
import OptimistWire
import Testing

@testable import OptimistLab

/// Two people share a list with three devices over HTTP, as on the lab's page.
@Suite(.timeLimit(.minutes(20)))
struct SharingStoryTests {
    @Test func `P1 P9: a list made offline reaches the other person by a link, and both write`() async throws {
        try await SharedHome.with { home in
            let (ann, bob) = (home.ann, home.bob)
            try await ann.go(.offline)
            let space = try await ann.createSpace(named: "Home").id
            let list = try await ann.addList("Groceries", to: space).id
            _ = try await ann.addItem("Milk", to: list)
            let offline = await ann.until { $0.contents(of: list) == ["Milk"] }
            #expect(offline.items.map(\.sync) == ["pending"])
            #expect(offline.spaces.map(\.isJoined) == [false])

            try await ann.go(.online)
            await home.tablet.until { $0.contents(of: list) == ["Milk"] }
            try await home.invite(to: space)
            await bob.until { $0.contents(of: list) == ["Milk"] }

            _ = try await bob.addItem("Eggs", to: list)
            _ = try await home.tablet.addItem("Tea", to: list)
            for phone in home.all {
                let shown = await phone.until { $0.contents(of: list).count == 3 && $0.isSynced(list) }
                #expect(shown.contents(of: list) == ["Eggs", "Milk", "Tea"])
                #expect(shown.members(of: space) == ["Ann", "Bob"])
            }
        }
    }

    @Test func `P6: a person who may only read cannot write until an owner allows it again`() async throws {
        try await SharedHome.with { home in
            let (space, list) = try await home.share("Home", "Groceries", "Milk")
            let member = try await home.member(of: space)
            try await home.ann.store.setRole(of: member, to: .reader)
            let lowered = await home.bob.until { $0.role(in: space) == .reader }
            #expect(lowered.spaces.map(\.mayWrite) == [false])
            let refusal = await #expect(throws: OptimistError.self) { try await home.bob.addItem("Eggs", to: list) }
            #expect(refusal?.code == .readOnlySpace)
            #expect(await home.bob.until { !$0.lists.isEmpty }.contents(of: list) == ["Milk"])

            try await home.ann.store.setRole(of: member, to: .writer)
            await home.bob.until { $0.role(in: space) == .writer }
            _ = try await home.bob.addItem("Eggs", to: list)
            await home.ann.until { $0.contents(of: list) == ["Eggs", "Milk"] }
        }
    }

    @Test func `P4: an edit made offline follows a list that its owner moves into a space`() async throws {
        try await SharedHome.with { home in
            let space = try await home.share("Home", "Groceries", "Milk").space
            let list = try await home.ann.addList("Camping", to: nil).id
            let tent = try await home.ann.addItem("Tent", to: list).id
            await home.tablet.until { $0.contents(of: list) == ["Tent"] }
            try await home.tablet.go(.offline)
            try await home.tablet.change(tent, ItemEdit(content: "Big tent"))
            try await home.ann.move(list, to: space)
            await home.bob.until { $0.space(of: list) == space && $0.contents(of: list) == ["Tent"] }
            try await home.tablet.go(.online)
            try await expect(list, in: space, with: ["Big tent"], on: home)
        }
    }

    @Test func `P4: another person's offline edit follows a list from one space to another`() async throws {
        try await SharedHome.with { home in
            let (_, list) = try await home.share("Home", "Groceries", "Milk")
            let trip = try await home.share("Trip", "Camping", "Tent").space
            let milk = try #require(await home.bob.until { $0.isSynced(list) }.items.first { $0.listID == list }).id
            try await home.bob.go(.offline)
            try await home.bob.change(milk, ItemEdit(content: "Oat milk"))
            try await home.ann.move(list, to: trip)
            await home.tablet.until { $0.space(of: list) == trip }
            try await home.bob.go(.online)
            try await expect(list, in: trip, with: ["Oat milk"], on: home)
        }
    }

    @Test func `P8: a removed person loses the list in one frame, and sends the unsent to-do when invited again`()
        async throws
    {
        try await SharedHome.with { home in
            let (bob, (space, list)) = (home.bob, try await home.share("Home", "Groceries", "Milk"))
            _ = try await bob.addItem("Eggs", to: list)
            await home.ann.until { $0.contents(of: list) == ["Eggs", "Milk"] }
            let member = try await home.member(of: space)
            try await bob.go(.offline)
            _ = try await bob.addItem("Bread", to: list)
            let frames = try await framesUntilEmpty(on: bob) {
                try await home.ann.store.remove(member)
                await home.tablet.until { $0.members(of: space) == ["Ann"] }
                try await bob.go(.online)
            }
            #expect(frames.count >= 2)
            for frame in frames { #expect(isWhole(frame) || frame == SharingSnapshot()) }

            let unsent = try await bob.store.rejections()
            #expect(unsent.map(\.code) == ["accessRevoked"])
            #expect(unsent.map { $0.mine["content"] } == ["Bread"])
            let first = try #require(unsent.first)
            let refusal = await #expect(throws: OptimistError.self) {
                try await bob.store.retry(rejectionNumbered: first.id, Data("{}".utf8))
            }
            #expect(refusal?.code == .badLabRequest, "the list is not here")
            #expect(try await bob.store.rejections().count == 1)

            try await home.invite(to: space)
            await bob.until { $0.contents(of: list) == ["Eggs", "Milk"] }
            try await bob.store.retry(rejectionNumbered: first.id, Data("{}".utf8))
            try await expect(list, in: space, with: ["Bread", "Eggs", "Milk"], on: home)
            #expect(try await bob.store.rejections().isEmpty)
        }
    }

    @Test func `the page's devices keep their rows until they start over`() async throws {
        try await SharedHome.with { home in
            _ = try await home.share("Home", "Groceries", "Milk")
            try await home.scene.startOver()
            for phone in try await home.scene.phones() {
                #expect(phone.session.account != nil)
                #expect(await phone.until { _ in true } == SharingSnapshot())
            }
        }
    }

    /// Expects that all devices show a list with these to-dos in a space, and have nothing to send.
    private func expect(_ list: UUID, in space: UUID, with contents: [String], on home: SharedHome) async throws {
        for phone in home.all {
            await phone.until {
                $0.space(of: list) == space && $0.contents(of: list) == contents && $0.isSynced(list)
            }
            for await status in phone.sync.statuses where status.counts.pending == 0 { break }
        }
    }

    /// Returns all frames that a device draws from the beginning of some events until it shows nothing.
    private func framesUntilEmpty(
        on phone: SharingPhone, during events: () async throws -> Void
    ) async throws -> [SharingSnapshot] {
        let (first, begin) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: [SharingSnapshot].self) { group in
            group.addTask {
                var frames: [SharingSnapshot] = []
                for await state in phone.store.observe({ try SharingSnapshot($0) }) {
                    frames.append(try state.get())
                    begin.finish()
                    if frames.last == SharingSnapshot() { break }
                }
                return frames
            }
            for await _ in first {}
            try await events()
            return try await group.next() ?? []
        }
    }

    /// Whether a frame has the space with both members, and the list with all its to-dos.
    private func isWhole(_ frame: SharingSnapshot) -> Bool {
        frame.spaces.count == 1 && frame.members.count == 2 && frame.lists.count == 1
            && frame.items.map(\.content) == ["Bread", "Eggs", "Milk"]
    }
}
