// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import TestForm
import Testing

@_spi(Internals) @testable import OptimistServing

/// A store with a database answers like the in-memory store.
@Suite(.timeLimit(.minutes(20)))
struct StoreAgreementTests {
    private static let columns = ["content", "note"]
    private static let types = ["Todo", "List"]

    /// A random transaction of an account.
    private struct Transaction: Sendable {
        var changes: [RowChange]
        var day: Int
        var push: (number: Int64, device: String)
    }

    /// Draws random transactions, and maintains the index entries as the service does.
    private struct Drawing {
        var chance: SplitMix64
        var rows: [RowKey: (row: MergeRow, entries: Set<IndexEntry>, born: Int64)] = [:]
        var seq: Int64 = 0
        var day = 20_000

        mutating func next() -> Transaction {
            seq += 1
            if chance.next() % 5 == 0 { day += 1 }
            let keys = (0..<Int(chance.next() % 40 + 1)).map { _ in
                RowKey(types[Int(chance.next() % 2)], RowKey.id(Int(chance.next() % 60)))
            }
            let changes = Set(keys).sorted { "\($0)" < "\($1)" }.map { change($0) }
            return Transaction(
                changes: changes, day: day,
                push: (Int64(chance.next() % 9), "device\(chance.next() % 3)"))
        }

        private mutating func change(_ key: RowKey) -> RowChange {
            let former = rows[key]
            var row = former?.row ?? MergeRow()
            let clock = WriteClock(stamp: Stamp(milliseconds: 1_000 + seq), device: "device")
            let isGone = row.isAlive && chance.next() % 4 == 0
            let born = row.isAlive ? former?.born : seq
            row.generation += isGone || !row.isAlive ? 1 : 0
            if isGone {
                row.deletion = clock
            } else {
                row.deletion = nil
                for column in columns { row.cells[column] = Cell(.string("\(chance.next() % 5)é\u{1F600}\\\""), clock) }
            }
            let text = String(repeating: "k", count: chance.next() % 7 == 0 ? 4_000 : 1) + "\(chance.next() % 4)"
            let entries: Set<IndexEntry> = isGone ? [] : [IndexEntry(index: "@content", key: IndexKey(text))]
            defer { rows[key] = (row, entries, born ?? seq) }
            return RowChange(
                key: key, row: row, memory: RowMemory(), bornSeq: isGone || born != seq ? born : nil,
                droppedEntries: (former?.entries ?? []).subtracting(entries),
                addedEntries: entries.subtracting(former?.entries ?? []))
        }
    }

    /// The answers to every question about an account.
    private static func answers(_ account: any AccountSnapshot) throws -> [String] {
        var answers = ["\(account.seq) \(account.floor) \(account.epoch) \(try account.epochs())"]
        let ids = (0..<60).map { RowKey.id($0) }
        let keys = (0..<4).flatMap { key in
            ["k\(key)", String(repeating: "k", count: 4_000) + "\(key)"].map { IndexKey($0) }
        }
        for type in types {
            answers.append("\(try account.livingCount(type: type))")
            for (id, row) in try account.rows(type: type, ids: ids).sorted(by: { $0.key < $1.key }) {
                answers.append(
                    "\(id) \(row.place) \(row.bornSeq) \(String(decoding: row.content(id: id), as: UTF8.self))")
            }
            for (key, ids) in try account.holders(type: type, index: "@content", keys: keys).sorted(by: {
                $0.key < $1.key
            }) {
                answers.append("\(key.text.suffix(5)) \(ids)")
            }
            for (limit, bytes) in [(1, 1), (7, Int.max), (100, 900), (100, Int.max)] {
                var last: String?
                var hasMore = true
                while hasMore {
                    let living = try account.livingRows(type: type, after: last, limit: limit, maxBytes: bytes)
                    answers.append("\(living.rows.map(text)) \(living.hasMore)")
                    (last, hasMore) = (living.rows.last?.id, living.hasMore)
                }
                var place: LogPosition? = .start
                while let from = place {
                    let page = try account.changes(type: type, from: from, limit: limit, maxBytes: bytes)
                    answers.append("\(page.rows.map(text)) \(String(describing: page.next))")
                    place = page.next
                }
            }
            answers.append("\(try account.livingRows(type: type, ids: ids, maxBytes: .max).rows.map(text).sorted())")
        }
        return answers
    }

    private static func text(_ row: LoggedRow) -> String {
        "\(row.id.suffix(3)) \(row.place) \(row.bornSeq) \(row.generation) \(row.content.count) \(row.hidden ?? [])"
    }

    private let place: StorePlace

    init() throws { place = try StorePlace() }

    @Test(arguments: 1...TestForm.of(short: 3, full: 30))
    func `R1 M2 L4 both stores agree after every transaction, even an aborted one`(seed: Int) async throws {
        let memory = InMemorySyncStore(accounts: [StoreFile.account], epoch: "e1")
        let store = try await place.open(epoch: "e1")
        var drawing = Drawing(chance: SplitMix64(seed: UInt64(seed)))
        for number in 1...12 {
            let transaction = drawing.next()
            let isGivenUp = number == 12
            var seqs: [String] = []
            for store in [store, memory] as [any SyncStore] {
                let told = try? await store.write(account: StoreFile.account, as: .operator) { account in
                    let isNoted = try account.notePush(
                        transaction.push.number, device: transaction.push.device, day: transaction.day)
                    let seq = try account.append(transaction.changes, day: transaction.day)
                    if isGivenUp { throw CancellationError() }
                    return "\(isNoted) \(seq)"
                }
                seqs.append(told ?? "given up")
            }
            #expect(seqs[0] == seqs[1])
            // Later transactions would depend on rows that were not stored.
            if isGivenUp { return try await expectAgreement(store, memory) }
            if number % 3 == 0 {
                let expiry = Expiry(now: Date(timeIntervalSince1970: Double(drawing.day) * 86_400), tombstoneDays: 1)
                for limit in [2, 50] {
                    let has = try await both(store, memory) { try $0.hasExpired(expiry) }
                    #expect(has[0] == has[1])
                    let more = try await bothWriting(store, memory) { try $0.forget(expiry, limit: limit) }
                    #expect(more[0] == more[1])
                }
            }
            try await expectAgreement(store, memory)
        }
    }

    private func both<Answer: Sendable>(
        _ stores: any SyncStore..., read: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> [Answer] {
        var answers: [Answer] = []
        for store in stores { answers.append(try await store.read(account: StoreFile.account, as: .operator, read)) }
        return answers
    }

    private func bothWriting<Answer: Sendable>(
        _ stores: any SyncStore..., write: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> [Answer] {
        var answers: [Answer] = []
        for store in stores { answers.append(try await store.write(account: StoreFile.account, as: .operator, write)) }
        return answers
    }

    private func expectAgreement(_ store: any SyncStore, _ memory: any SyncStore) async throws {
        let answers = try await both(store, memory) { try Self.answers($0) }
        for (here, there) in zip(answers[0], answers[1]) { #expect(here == there) }
        #expect(answers[0].count == answers[1].count)
    }

    @Test func `both stores refuse an unknown account`() async throws {
        let store = try await place.open(epoch: "e1")
        await #expect(throws: StoreError.self) { try await store.read(account: "nobody", as: .operator) { $0.seq } }
        await #expect(throws: StoreError.self) { try await store.write(account: "nobody", as: .operator) { $0.seq } }
    }
}
