// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// The index of members, which decides who may open a space.
@Suite(.timeLimit(.minutes(20)))
struct MembersTests {
    typealias Kind = StoresTests.Kind

    static let space = "s" + String(repeating: "0", count: 31) + "1"

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    private func store(_ kind: Kind) async throws -> any SyncStore {
        switch kind {
        case .durable: return try await place.open(epoch: "e1", accounts: ["ann", "bob", "eve"])
        case .inMemory: return InMemorySyncStore(accounts: ["ann", "bob", "eve"], epoch: "e1")
        }
    }

    private static func change(
        _ person: String, _ role: Role = .owner, end: AccessEnd.Reason? = nil
    ) -> RowChange {
        var change = RowChange(
            key: .todo(person.utf8.reduce(0) { $0 + Int($1) }), row: MergeRow(generation: end == nil ? 1 : 2),
            memory: RowMemory(), bornSeq: nil, droppedEntries: [], addedEntries: [])
        change.membership = MembershipChange(person: person, memberID: change.key.id, role: role, end: end)
        return change
    }

    private func append(_ changes: [RowChange], to store: any SyncStore, as reader: Reader = .operator) async throws {
        try await store.write(accounts: [Self.space], as: reader, entering: Entrances(founding: [Self.space])) {
            accounts in
            _ = try accounts.open[Self.space]?.append(changes, day: 1)
        }
    }

    private func access(of person: String, in store: any SyncStore) async throws -> [Access?] {
        let asked: Set = [Self.space]
        return [
            try await store.read(accounts: asked, as: .person(person)) { $0.open[Self.space]?.access },
            try await store.write(accounts: asked, as: .person(person)) { $0.open[Self.space]?.access },
        ]
    }

    private func ended(_ person: String, in store: any SyncStore) async throws -> [AccessEnd?] {
        let asked: Set = [Self.space]
        return [
            try await store.read(accounts: asked, as: .person(person)) { $0.ended[Self.space] },
            try await store.write(accounts: asked, as: .person(person)) { $0.ended[Self.space] },
        ]
    }

    // MARK: - Founding

    @Test(arguments: Kind.allCases)
    func `a space exists once its first rows are stored`(kind: Kind) async throws {
        let store = try await store(kind)
        try await store.write(accounts: [Self.space], as: .person("ann"), entering: Entrances(founding: [Self.space])) {
            accounts in
            let account = try #require(accounts.open[Self.space])
            #expect(account.access == .founding && account.seq == 0)
            _ = try account.notePush(7, device: "d", day: 1)
        }
        #expect(try await store.accounts(after: nil, limit: 9) == ["ann", "bob", "eve"])
        try await append([Self.change("ann")], to: store, as: .person("ann"))
        #expect(try await store.accounts(after: nil, limit: 9) == ["ann", "bob", "eve", Self.space])
        // The write that founded nothing left no push number.
        let isNew = try await store.write(account: Self.space, as: .person("ann")) {
            try $0.notePush(1, device: "d", day: 1)
        }
        #expect(isNew)
    }

    @Test(arguments: Kind.allCases)
    func `P7 a stranger cannot found an existing space, and cannot tell it from none`(kind: Kind) async throws {
        let store = try await store(kind)
        try await append([Self.change("ann")], to: store, as: .person("ann"))
        for person in ["bob", "eve"] {
            try await append([Self.change(person)], to: store, as: .person(person))
            #expect(try await access(of: person, in: store) == [nil, nil])
            #expect(try await ended(person, in: store) == [nil, nil])
        }
        let seq = try await store.read(account: Self.space, as: .operator) { $0.seq }
        #expect(seq == 1)
    }

    // MARK: - Members

    @Test(arguments: Kind.allCases)
    func `P8 a member opens the space until the membership ends, and then learns when and why`(
        kind: Kind
    ) async throws {
        let store = try await store(kind)
        try await append([Self.change("ann"), Self.change("bob", .writer)], to: store, as: .person("ann"))
        let bob = Membership(person: "bob", memberID: Self.change("bob").key.id, role: .writer, joinedSeq: 1)
        #expect(try await access(of: "bob", in: store) == [.member(bob), .member(bob)])
        try await append([Self.change("bob", .reader)], to: store)
        #expect(try await access(of: "bob", in: store).map { $0?.role } == [.reader, .reader])
        #expect(try await access(of: "bob", in: store).map { $0?.membership?.joinedSeq } == [1, 1])
        try await append([Self.change("bob", .reader, end: .removed)], to: store)
        let end = AccessEnd(reason: .removed, seq: 3)
        #expect(try await access(of: "bob", in: store) == [nil, nil])
        #expect(try await ended("bob", in: store) == [end, end])
        let members = try await store.read(account: Self.space, as: .operator) { try $0.members().map(\.person) }
        #expect(members == ["ann"])
        try await append([Self.change("bob", end: .left)], to: store)
        #expect(try await ended("bob", in: store) == [end, end])
        // A person who comes back is a member from then on.
        try await append([Self.change("bob", .writer)], to: store)
        #expect(try await access(of: "bob", in: store).map { $0?.membership?.joinedSeq } == [5, 5])
    }

    @Test(arguments: Kind.allCases)
    func `a discarded write leaves the index of members as it was`(kind: Kind) async throws {
        struct GivenUp: Error {}
        let store = try await store(kind)
        try await append([Self.change("ann")], to: store, as: .person("ann"))
        await #expect(throws: GivenUp.self) {
            try await store.write(account: Self.space, as: .person("ann")) { account in
                _ = try account.append([Self.change("ann", end: .left), Self.change("bob")], day: 1)
                #expect(account.access.role == .reader)
                throw GivenUp()
            }
        }
        #expect(try await access(of: "ann", in: store).map { $0?.role } == [.owner, .owner])
        #expect(try await access(of: "bob", in: store) == [nil, nil])
    }

    @Test func `P8 a write that waited for a removal finds the access ended`() async throws {
        let store = try await store(.durable)
        try await append([Self.change("ann"), Self.change("bob", .writer)], to: store, as: .person("ann"))
        let (isLocked, isAsked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let removal = Task {
            try await store.write(account: Self.space, as: .person("ann")) { account in
                _ = try account.append([Self.change("bob", .writer, end: .removed)], day: 1)
                isLocked.signal()
                // Time for the other write to begin waiting for the lock.
                _ = isAsked.wait(timeout: .now() + 1)
            }
        }
        await Task.detached { Self.wait(isLocked) }.value
        #expect(try await ended("bob", in: store).last == AccessEnd(reason: .removed, seq: 2))
        try await removal.value
    }

    private static func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }
}
