// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Reads and writes of several accounts at once, which the database store and the in-memory store do alike.
@Suite(.timeLimit(.minutes(20)))
struct SeveralAccountsTests {
    private static let accounts = (1...8).map { "a\($0)" }

    private struct GivenUp: Error {}

    private let place: StorePlace
    private let log = LogBook()

    init() throws { place = try StorePlace() }

    private func store(_ kind: StoresTests.Kind) async throws -> any SyncStore {
        switch kind {
        case .durable: return try await place.open(epoch: "e1", accounts: Self.accounts, logger: log.logger)
        case .inMemory: return InMemorySyncStore(accounts: Self.accounts, epoch: "e1")
        }
    }

    private static func change(_ number: Int) -> RowChange {
        let row = MergeRow(generation: 1, cells: ["content": Cell(.string("\(number)"), .at(Int64(number)))])
        return RowChange(
            key: .todo(number), row: row, memory: RowMemory(), bornSeq: nil, droppedEntries: [], addedEntries: [])
    }

    private func seqs(in store: any SyncStore, as reader: Reader = .operator) async throws -> [String: Int64] {
        try await store.read(accounts: Set(Self.accounts), as: reader) { $0.open.mapValues(\.seq) }
    }

    // MARK: - One transaction

    @Test(arguments: StoresTests.Kind.allCases)
    func `S2 a write over eight accounts is stored in all of them or in none`(kind: StoresTests.Kind) async throws {
        let store = try await store(kind)
        for isGivenUp in [true, false] {
            do {
                try await store.write(accounts: Set(Self.accounts), as: .operator) { accounts in
                    for (id, account) in accounts.open {
                        #expect(account.account == id)
                        #expect(try account.notePush(7, device: "d", day: 1))
                        _ = try account.append([Self.change(1)], day: 1)
                    }
                    if isGivenUp { throw GivenUp() }
                }
            } catch is GivenUp {}
            let seqs = try await seqs(in: store)
            #expect(seqs.count == 8 && Set(seqs.values) == [isGivenUp ? 0 : 1])
            let counts = try await store.read(accounts: Set(Self.accounts), as: .operator) { accounts in
                try accounts.open.values.map { try $0.livingCount(type: "Todo") }
            }
            #expect(Set(counts) == [isGivenUp ? 0 : 1])
        }
        // The discarded write left no push numbers either.
        for account in Self.accounts {
            #expect(try await store.write(account: account, as: .operator) { try $0.notePush(7, device: "d", day: 1) })
        }
    }

    @Test func `R1 a read of two accounts sees both as of one moment`() async throws {
        let store = try await store(.durable)
        // On PostgreSQL the first request migrates the accounts to the current schema.
        _ = try await store.write(accounts: ["a1", "a2"], as: .operator) { $0.open.count }
        let (isReading, isWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let read = Task {
            try await store.read(accounts: ["a1", "a2"], as: .operator) { accounts in
                isReading.signal()
                isWritten.wait()
                return try accounts.open.mapValues { try $0.livingCount(type: "Todo") }
            }
        }
        await Task.detached { Self.wait(isReading) }.value
        try await store.write(accounts: ["a1", "a2"], as: .operator) { accounts in
            for account in accounts.open.values { _ = try account.append([Self.change(1)], day: 1) }
        }
        isWritten.signal()
        #expect(try await read.value == ["a1": 0, "a2": 0])
        let now = try await store.read(accounts: ["a1", "a2"], as: .operator) { accounts in
            try accounts.open.mapValues { try $0.livingCount(type: "Todo") }
        }
        #expect(now == ["a1": 1, "a2": 1])
    }

    private static func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }

    // MARK: - Who may open an account

    @Test(arguments: StoresTests.Kind.allCases)
    func `a person opens only the own account, and cannot tell a foreign account from none`(
        kind: StoresTests.Kind
    ) async throws {
        let store = try await store(kind)
        let asked: Set = ["a1", "a2", "nobody"]
        let read = try await store.read(accounts: asked, as: .person("a1")) { Array($0.open.keys) }
        let written = try await store.write(accounts: asked, as: .person("a1")) { accounts in
            for account in accounts.open.values { _ = try account.append([Self.change(1)], day: 1) }
            return Array(accounts.open.keys)
        }
        #expect(read == ["a1"] && written == ["a1"])
        #expect(try await store.read(accounts: asked, as: .operator) { $0.open.keys.sorted() } == ["a1", "a2"])
        for foreign in ["a2", "nobody"] {
            let errors = [
                await #expect(throws: StoreError.self) {
                    try await store.read(account: foreign, as: .person("a1")) { $0.seq }
                },
                await #expect(throws: StoreError.self) {
                    try await store.write(account: foreign, as: .person("a1")) { $0.seq }
                },
            ]
            for error in errors { #expect("\(try #require(error))" == "noAccount") }
        }
        let seqs = try await seqs(in: store)
        #expect(seqs["a1"] == 1 && seqs.values.reduce(0, +) == 1)
    }

    // MARK: - Locks

    @Test(arguments: StoresTests.Kind.allCases)
    func `writers of overlapping accounts never wait for each other in a circle`(kind: StoresTests.Kind) async throws {
        // The operator's writes take turns in a process, so on PostgreSQL there are several.
        var stores = [try await store(kind)]
        if kind == .durable, SharedDatabase.isUsed {
            for _ in 1..<4 { stores.append(try await store(kind)) }
        }
        try await withThrowingTaskGroup { group in
            for writer in 0..<8 {
                let store = stores[writer % stores.count]
                group.addTask {
                    for number in 0..<10 {
                        // Each writer begins elsewhere, so that every order of the accounts occurs.
                        let accounts = (0..<4).map { Self.accounts[(writer * 3 + number + $0 * 5) % 8] }
                        let change = Self.change(writer * 10 + number)
                        try await store.write(accounts: Set(accounts), as: .operator) { open in
                            for account in accounts { _ = try open.open[account]?.append([change], day: 1) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await seqs(in: stores[0]).values.reduce(0, +) == 8 * 10 * 4)
        // A database resolves a deadlock by ending a writer, which the store then repeats.
        #expect(log.lines.isEmpty)
    }
}
