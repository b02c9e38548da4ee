// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
import OptimistWire
import TestForm
import Testing

@testable import Optimist
@testable import OptimistCore

/// Three devices and a server, in an order drawn from the seed: lost requests and answers, late and repeated pages,
/// relaunches, and clocks that differ.
private struct World {
    let server = InMemoryServer(schema: .planner)
    var random: SplitMix64
    var phones: [Phone] = []
    /// Answers that have not arrived yet.
    var answers: [(phone: Int, batch: PushBatch, verdicts: [RemotePush.Verdict])] = []
    /// Pages that have not arrived yet.
    var pages: [(phone: Int, page: RemotePage)] = []
    let ids = (1...4).map { UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID() }

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        for _ in 0..<3 {
            phones.append(try Phone(at: 1_790_000_000_000 + Int64.random(in: -3_600_000...3_600_000, using: &random)))
        }
    }

    mutating func step() async throws {
        let index = Int.random(in: 0..<phones.count, using: &random)
        let phone = phones[index]
        phone.advance(Int64.random(in: 0...2, using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0...4: try await write(on: phone)
        case 5, 6: try await push(index)
        case 7: try await bookOne()
        case 8: pages.append((index, try await pull(phone)))
        case 9: try await applyOne()
        case 10: if !pages.isEmpty { pages.append(pages[Int.random(in: 0..<pages.count, using: &random)]) }
        default: if Int.random(in: 0..<4, using: &random) == 0 { try phone.reopen() }
        }
    }

    private mutating func write(on phone: Phone) async throws {
        let id = ids.randomElement(using: &random) ?? UUID()
        let text = "\(Int.random(in: 0..<4, using: &random))"
        let priority = Int.random(in: 0..<3, using: &random)
        let kind = Int.random(in: 0..<7, using: &random)
        try await phone.store.write { db in
            switch kind {
            case 0, 1: try Todo(id: id, content: text, priority: priority).insert(db, onConflict: .ignore)
            case 2: try db.execute(sql: "DELETE FROM todo WHERE id = ?", arguments: [id])
            case 3: try Todo(id: id, content: text).insert(db, onConflict: .replace)
            case 4: try db.execute(sql: "UPDATE todo SET priority = ? WHERE id = ?", arguments: [priority, id])
            case 5: try db.execute(sql: "UPDATE todo SET done = 1 - done")
            default: try db.execute(sql: "UPDATE todo SET content = ? WHERE id = ?", arguments: [text, id])
            }
        }
    }

    /// The request or the answer may be lost; otherwise the answer waits in `answers`.
    private mutating func push(_ index: Int) async throws {
        guard let batch = try await phones[index].store.nextPush(PushLimit(rows: .random(in: 1...4, using: &random)))
        else { return }
        let fate = Int.random(in: 0..<4, using: &random)
        if fate == 0 { return }
        let verdicts = try await InMemoryRemote(server).push(batch.push).verdicts
        if fate > 1 { answers.append((index, batch, verdicts)) }
    }

    /// Applies the latest answer of a device and drops its older ones: the engine has one push in flight.
    private mutating func bookOne() async throws {
        guard let answer = answers.popLast() else { return }
        answers.removeAll { $0.phone == answer.phone }
        let pushed = try await phones[answer.phone].store.read { try Meta.int(.push, in: $0) }
        guard pushed == answer.batch.push.number else { return }
        try await phones[answer.phone].store.apply(answer.verdicts, of: answer.batch)
    }

    private func pull(_ phone: Phone) async throws -> RemotePage {
        let next = try await phone.store.nextPull()
        return try await InMemoryRemote(server).pull(
            RemotePage.Request(tables: next.tables, cursor: next.cursor ?? "m.0", limit: 2))
    }

    private mutating func applyOne() async throws {
        guard !pages.isEmpty else { return }
        let (index, page) = pages.remove(at: Int.random(in: 0..<pages.count, using: &random))
        _ = try await phones[index].store.apply(page, to: ["todo"], initialCursor: "m.0")
        try await phones[index].store.settleUnseen(.remove)
    }

    mutating func settle() async throws {
        answers = []
        pages = []
        for _ in 0..<4 {
            for phone in phones {
                phone.advance(120_000)
                while let batch = try await phone.store.nextPush(PushLimit()) {
                    try await phone.store.apply(try await InMemoryRemote(server).push(batch.push).verdicts, of: batch)
                }
                while true {
                    let page = try await pull(phone)
                    #expect(try await phone.store.apply(page, to: ["todo"], initialCursor: "m.0"))
                    try await phone.store.settleUnseen(.remove)
                    if !page.hasMore { break }
                }
            }
        }
    }

    /// The rows of a device in wire form.
    func rows(_ phone: Phone) async throws -> [String: JSONObject] {
        let layout = phone.store.layouts[0]
        return try await phone.store.read { db in
            let todos = try Todo.fetchAll(db)
            return try Dictionary(
                uniqueKeysWithValues: todos.map { todo in
                    let values = try AppTable(layout: layout, db: db).values(todo.id.databaseValue) ?? [:]
                    return (todo.wireID, JSONObject(values.members.filter { !$0.value.isNull }))
                })
        }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct ConvergenceTests {
    @Test(arguments: 1...TestForm.of(short: 6, full: 60))
    func `M1 S3 R1 all devices and the server converge despite losses, delays, repetitions and reordering`(seed: UInt64)
        async throws
    {
        var world = try World(seed: seed)
        for _ in 0..<60 { try await world.step() }
        try await world.settle()
        let expected = world.server.rows("todo").mapValues { JSONObject($0.members.filter { !$0.value.isNull }) }
        for phone in world.phones {
            #expect(try await world.rows(phone) == expected)
            #expect(try await phone.store.counts().pending == 0)
            #expect(try await phone.store.counts().parked == 0)
        }
    }
}
