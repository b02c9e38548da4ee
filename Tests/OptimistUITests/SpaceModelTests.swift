// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@testable import Optimist
@testable import OptimistCore
@testable import OptimistUI
@_spi(Internals) @testable import OptimistWire

/// What the views of spaces offer, and what their buttons do.
@Suite(.timeLimit(.minutes(20)))
struct SpaceModelTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000)
    private let server: InMemoryServer

    init() { server = InMemoryServer(schema: .lists, now: { [start] in start }) }

    private func member(_ role: SpaceRole?, isMe: Bool = false) -> SpaceMember {
        SpaceMember(
            id: UUID(), space: UUID(), name: isMe ? "Ann" : nil, role: role, isMe: isMe, state: "synced", stamp: nil,
            clock: nil)
    }

    private func space(_ role: SpaceRole?, isJoined: Bool = true, isLeaving: Bool = false) -> Space {
        Space(
            id: UUID(), name: nil, role: role, member: nil, memberCount: 1, isJoined: isJoined, isLeaving: isLeaving,
            pending: 0)
    }

    private func phone(_ person: String) throws -> ListPhone {
        try ListPhone(server, person, now: { [start] in start })
    }

    // MARK: - Members

    @Test func `U5 owners may give roles and remove others, and other members may not`() {
        let (ann, bob) = (member(.owner, isMe: true), member(.writer))
        let list = MemberList([ann, bob, member(.owner)])
        #expect(list.isOwner)
        #expect(list.roles(for: bob) == [.owner, .writer, .reader])
        #expect(list.roles(for: ann) == [.owner, .writer, .reader])
        #expect(list.mayRemove(bob) && !list.mayRemove(ann))
        for role in [SpaceRole.writer, .reader, SpaceRole(rawValue: "later"), nil] {
            let list = MemberList([member(role, isMe: true), bob, member(.owner)])
            #expect(!list.isOwner && list.roles(for: bob).isEmpty && !list.mayRemove(bob))
        }
    }

    @Test func `U5 the last owner keeps the role, and may only delete the space`() {
        let ann = member(.owner, isMe: true)
        let list = MemberList([ann, member(.writer)])
        #expect(list.roles(for: ann).isEmpty)
        #expect(list.departure == .lastOwner)
        #expect(MemberList([ann, member(.owner)]).departure == .leaves)
        #expect(MemberList([ann]).departure == .endsSpace)
        #expect(MemberList([member(.reader, isMe: true), member(.owner)]).departure == .leaves)
        #expect(MemberList([member(.owner)]).departure == nil)
    }

    @Test func `U5 each question names its button and what disappears`() {
        let endings = MemberList.Departure.allCases.map { AccessEnding.departure($0) } + [.removal(of: member(.reader))]
        #expect(Set(endings.map(\.title)).count == 4 && Set(endings.map(\.message)).count == 4)
        #expect(endings.map(\.button) == ["Leave", "Delete", "Delete for everyone", "Remove"])
        #expect(AccessEnding.removal(of: member(.reader)).title == "Remove Unnamed member?")
        #expect(member(.owner, isMe: true).title == "Ann (you)")
    }

    @Test func `U5 a badge shows the role, or that the server has not admitted the person`() {
        #expect(SpaceState(space(.owner)) == .member(.owner))
        #expect(SpaceState(space(.owner, isJoined: false)) == .pending)
        #expect(SpaceState(space(nil)) == .pending)
        #expect(SpaceState(space(.owner, isLeaving: true)) == .leaving)
        #expect(Set([SpaceState.pending, .leaving, .member(.reader)].map(\.label)).count == 3)
        #expect(SpaceState(space(.reader)).symbol != SpaceState(space(.writer)).symbol)
        #expect(SpaceState.member(SpaceRole(rawValue: "later")).label == "Can read")
    }

    // MARK: - Invitations

    @Test func `U5 an invitation is made, shared, accepted after a question, and used up`() async throws {
        let (ann, bob) = (try phone("ann"), try phone("bob"))
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        var draft = InvitationDraft()
        draft.label = "  "
        #expect(!draft.isComplete)
        draft.label = " Groceries "
        #expect(draft.isComplete)
        try await draft.invite(to: home, of: ann.store)
        let unsent = try await ann.invitation(of: home)
        #expect(unsent.label == "Groceries" && unsent.summary == "Can edit, 0 of 1 used")
        #expect(InvitationState(unsent, at: start) == .unsent)
        #expect(InvitationState(unsent, at: start + 8 * 24 * 3600) == .ended)
        try await ann.sync()
        #expect(InvitationState(try await ann.invitation(of: home), at: start) == .open)

        let site = try #require(URL(string: "https://example.org"))
        let link = try #require(unsent.link)
        let opened = try #require(OpenedInvitation(link.url(at: site)))
        #expect(OpenedInvitation(site) == nil)
        let question = JoinQuestion(account: "bob@example.org", space: nil)
        #expect(question.message.contains("bob@example.org"))
        #expect(question.isAnswered(by: "Bob") && !question.isAnswered(by: " "))
        let signedOut = JoinQuestion(account: nil, space: nil)
        #expect(signedOut.message.contains("Sign in") && !signedOut.mayJoin && !signedOut.isAnswered(by: "Bob"))
        let joined = try await bob.store.accept(opened.link, as: "Bob").space
        #expect(SpaceState(joined) == .pending)
        #expect(JoinQuestion(account: "bob@example.org", space: joined).mayJoin)
        try await bob.sync()
        try await bob.sync()
        let mine = try #require(try await bob.store.read { try Space.fetchAll($0) }.first)
        #expect(SpaceState(mine) == .member(.writer))
        #expect(!JoinQuestion(account: "bob@example.org", space: mine).isAnswered(by: "Bob"))
        try await ann.sync()
        let used = try await ann.invitation(of: home)
        #expect(InvitationState(used, at: start) == .usedUp)
        #expect(InvitationState.allCases.filter(\.isWorthSharing) == [.unsent, .open])
    }

    @MainActor @Test func `U5 the question before joining has the invitation's label, role and inviter, not verified`()
        async throws
    {
        let (ann, bob) = (try phone("ann"), try phone("bob"))
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let link = try #require(try await ann.store.invite(to: home, as: .reader, label: "Groceries").link)
        func question(of space: Space? = nil, _ check: InvitationCheck?) -> JoinQuestion {
            JoinQuestion(account: "bob@example.org", space: space, check: check)
        }
        #expect(try await bob.model.preview(of: link) == .notValid)
        try await ann.sync()
        let open = try await bob.model.preview(of: link)
        let text = question(open).invitation
        for part in ["Ann (not verified)", "“Groceries”", "can read its items", "7 days"] {
            #expect(text.contains(part))
        }
        #expect(try await SyncStatusModel().preview(of: link) == .unknown)
        #expect(Set([nil, open, .notValid, .unknown].map { question($0).invitation }).count == 4)
        // A person who was removed may not know it.
        let mine = space(.writer)
        #expect(!question(of: mine, .notValid).mayJoin && !question(of: mine, nil).mayJoin)
        #expect(
            question(of: mine, open).isAnswered(by: "Bob")
                && question(of: mine, open).message.contains("already a member"))
    }

    @Test func `U5 a link opened while signed out waits for the next sign-in, once, and at most a day`() throws {
        let kept = Mutex<Data?>(nil)
        let keeper = InvitationKeeper(
            read: { kept.withLock(\.self) }, write: { data in kept.withLock { $0 = data } })
        let code = String(repeating: "A", count: 64)
        let url = try #require(URL(string: "https://example.org/join#\(code)"))
        let invitation = try #require(OpenedInvitation(url))
        let day: TimeInterval = 24 * 3600
        for (later, isAsked) in [(0, true), (day, true), (day + 1, false), (-1, false)] {
            try keeper.keep(invitation, at: start)
            #expect(keeper.take(at: start + later) == (isAsked ? invitation : nil))
            #expect(keeper.take(at: start) == nil)
        }
        kept.withLock { $0 = Data("{}".utf8) }
        #expect(keeper.take(at: start) == nil && kept.withLock(\.self) == nil)
        let locked = InvitationKeeper(read: { throw CancellationError() }, write: { _ in throw CancellationError() })
        #expect(throws: CancellationError.self) { try locked.keep(invitation, at: start) }
        #expect(locked.take(at: start) == nil)
    }

    @MainActor @Test func `U5 the list of members and the badge follow the engine`() async throws {
        let (ann, bob) = (try phone("ann"), try phone("bob"))
        let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
        let link = try #require(try await ann.store.invite(to: home, label: "Home").link)
        let (members, spaces) = (LiveQueryModel<[SpaceMember]>([]), LiveQueryModel<[Space]>([]))
        members.show(LiveRequest { SpaceMember.of(home) }, in: StoreAccess(ann.store), isVisible: true)
        spaces.show(LiveRequest { Space.all() }, in: StoreAccess(ann.store), isVisible: true)
        await reached {
            members.value.map(\.title) == ["Ann (you)"] && spaces.value.map { SpaceState($0) } == [.pending]
        }
        try await ann.sync()
        await reached { spaces.value.map { SpaceState($0) } == [.member(.owner)] }
        _ = try await bob.store.accept(link, as: "Bob")
        try await bob.sync()
        try await ann.sync()
        await reached { members.value.map(\.title) == ["Ann (you)", "Bob"] }
        try await AccessEnding.removal(of: members.value[1]).carryOut(in: home, of: ann.store)
        await reached { members.value.count == 1 }
    }

    @Test func `U5 the buttons of the questions remove a member, leave, and delete for all`() async throws {
        let (ann, bob) = (try phone("ann"), try phone("bob"))
        for ending in [AccessEnding.departure(.leaves), .departure(.lastOwner), .departure(.endsSpace)] {
            let home = try await ann.store.createSpace(named: "Home", as: "Ann").id
            let link = try #require(try await ann.store.invite(to: home, label: "Home").link)
            try await ann.sync()
            _ = try await bob.store.accept(link, as: "Bob")
            try await bob.sync()
            try await ann.sync()
            let members = MemberList(try await ann.members(of: home))
            #expect(members.departure == .lastOwner)
            switch ending {
            case .departure(.leaves): try await ending.carryOut(in: home, of: bob.store)
            case .departure(.endsSpace):
                let other = try #require(members.members.first(where: members.mayRemove))
                try await AccessEnding.removal(of: other).carryOut(in: home, of: ann.store)
                #expect(MemberList(try await ann.members(of: home)).departure == .endsSpace)
                try await ending.carryOut(in: home, of: ann.store)
            default: try await ending.carryOut(in: home, of: ann.store)
            }
            for phone in [bob, ann, bob, ann] { try await phone.sync() }
            #expect(try await bob.store.read { try Space.fetchCount($0) } == 0)
            #expect(try await ann.store.read { try Space.fetchCount($0) } == (ending == .departure(.leaves) ? 1 : 0))
            if ending == .departure(.leaves) { try await ann.store.deleteSpace(home) }
            try await ann.sync()
        }
    }
}

/// A list that people can share.
private struct SharedList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var space: UUID?

    @Sendable static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("list") { db in
            try db.create(table: "list") { t in
                t.syncedID()
                t.column("space", .blob)
            }
        }
    }
}

extension Schema {
    fileprivate static var lists: Schema {
        var schema = Schema(id: "lists", types: ["list": TypeSchema(columns: ["space": ColumnSchema(.ref)])])
        schema.types["list"]?.space = .own("space")
        return schema
    }
}

/// A device of a person.
private final class ListPhone: Sendable {
    let store: Store
    private let engine: SyncEngine
    private let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")

    init(_ server: InMemoryServer, _ person: String, now: @escaping @Sendable () -> Date) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try Store(
            at: folder.appending(path: "lists.sqlite"), synced: [SharedList.self], durability: .normal,
            dependencies: Dependencies(clock: ManualClock(), now: now, seed: person == "ann" ? 1 : 2),
            migrate: SharedList.migrate)
        let remote = InMemoryRemote(server, person: person)
        engine = SyncEngine(store: store, remote: remote, reachability: ManualReachability())
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    @MainActor var model: SyncStatusModel { SyncStatusModel(engine, store: store) }

    func sync() async throws { _ = try await engine.syncOnce() }

    func members(of space: Space.ID) async throws -> [SpaceMember] {
        try await store.read { try SpaceMember.of(space).fetchAll($0) }
    }

    func invitation(of space: Space.ID) async throws -> SpaceInvitation {
        try #require(try await store.read { try SpaceInvitation.of(space).fetchOne($0) })
    }
}
