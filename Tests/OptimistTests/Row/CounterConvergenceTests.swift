// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// Three devices that count, in an order drawn from the seed: lost and late answers, late and repeated pages, refusals,
/// relaunches, and new device ids.
private struct CountingWorld {
    let server = AppServer()
    let deletes: Bool
    var random: SplitMix64
    var devices: [Device] = []
    var answers: [(device: Int, batch: PushBatch, verdicts: [RemotePush.Verdict])] = []
    var pages: [(device: Int, page: RemotePage)] = []
    let ids = (1...3).map { UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID() }
    /// The sum of everything added to each row.
    var added: [String: Int64] = [:]

    init(seed: UInt64, deletes: Bool) throws {
        random = SplitMix64(seed: seed)
        self.deletes = deletes
        for _ in 0..<3 { devices.append(try Device([Photo.self], migrate: Photo.migrate)) }
    }

    mutating func step() async throws {
        let index = Int.random(in: 0..<devices.count, using: &random)
        let device = devices[index]
        device.advance(Int64.random(in: 0...2, using: &random))
        switch Int.random(in: 0..<13, using: &random) {
        case 0...4: try await write(on: device)
        case 5, 6: try await push(index)
        case 7: try await bookOne()
        case 8: pages.append((index, try await device.pull(from: server, limit: 2)))
        case 9: try await applyOne()
        case 10: if !pages.isEmpty { pages.append(pages[Int.random(in: 0..<pages.count, using: &random)]) }
        case 11: if Int.random(in: 0..<4, using: &random) == 0 { try await device.store.renewDeviceID() }
        default:
            if Int.random(in: 0..<4, using: &random) == 0 { try device.open([Photo.self], migrate: Photo.migrate) }
        }
    }

    private mutating func write(on device: Device) async throws {
        let id = ids.randomElement(using: &random) ?? UUID()
        let amount = Int.random(in: -3...5, using: &random)
        let kind = Int.random(in: 0..<(deletes ? 7 : 5), using: &random)
        let change = try await device.store.write { db in
            let sum = { try Int64.fetchOne(db, sql: "SELECT likes FROM photo WHERE id = ?", arguments: [id]) ?? 0 }
            let before = try sum()
            switch kind {
            case 0: try Photo(id: id, title: "\(amount)", likes: amount).insert(db, onConflict: .ignore)
            case 1, 2:
                try db.execute(sql: "UPDATE photo SET likes = likes + ? WHERE id = ?", arguments: [amount, id])
            case 3: try db.execute(sql: "UPDATE photo SET likes = ? WHERE id = ?", arguments: [amount, id])
            case 4:
                try db.execute(
                    sql: "UPDATE photo SET title = ?1, likes = likes + ?1 WHERE id = ?2", arguments: [amount, id])
            case 5: try db.execute(sql: "DELETE FROM photo WHERE id = ?", arguments: [id])
            default: try Photo(id: id, title: "new", likes: amount).insert(db, onConflict: .replace)
            }
            return try sum() - before
        }
        added[id.uuidString.lowercased(), default: 0] += change
    }

    private mutating func push(_ index: Int) async throws {
        guard let batch = try await devices[index].next() else { return }
        let fate = Int.random(in: 0..<6, using: &random)
        if fate == 0 { return }
        let refusal = fate == 5 ? RemotePush.Refusal(code: "forbidden", message: "no") : nil
        let verdicts = try await server.push(batch.push) { _ in refusal }
        if fate > 1 { answers.append((index, batch, verdicts)) }
    }

    private mutating func bookOne() async throws {
        guard let answer = answers.popLast() else { return }
        answers.removeAll { $0.device == answer.device }
        try await devices[answer.device].store.apply(answer.verdicts, of: answer.batch)
    }

    private mutating func applyOne() async throws {
        guard !pages.isEmpty else { return }
        let (index, page) = pages.remove(at: Int.random(in: 0..<pages.count, using: &random))
        let store = devices[index].store
        _ = try await store.apply(page, to: store.layouts.map(\.name), initialCursor: "m.0")
        try await store.settleUnseen(.remove)
    }

    mutating func settle() async throws {
        answers = []
        pages = []
        for round in 0..<4 {
            for device in devices {
                device.advance(120_000)
                try await device.sync(with: server)
                if round > 0 { continue }
                for rejection in try await device.store.rejections() { try await device.store.retry(rejection) }
                try await device.sync(with: server)
            }
        }
    }

    func likes(_ device: Device) async throws -> [String: Int64] {
        try await device.store.read { db in
            try Dictionary(
                uniqueKeysWithValues: Photo.fetchAll(db).map { ($0.id.uuidString.lowercased(), Int64($0.likes)) })
        }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct CounterConvergenceTests {
    @Test(arguments: 1...TestForm.of(short: 4, full: 12))
    func `M3 S3 every count is added once, despite losses, delays, repetitions, refusals and new device ids`(
        seed: UInt64
    ) async throws {
        var world = try CountingWorld(seed: seed, deletes: false)
        for _ in 0..<60 { try await world.step() }
        try await world.settle()
        let sums = world.server.sums("photo", "likes")
        #expect(sums == world.added.filter { sums[$0.key] != nil || $0.value != 0 })
        for device in world.devices {
            #expect(try await world.likes(device) == sums)
            #expect(try await device.store.counts().pending == 0)
        }
    }

    @Test(arguments: 1...TestForm.of(short: 4, full: 12))
    func `M3 M2 all devices and the server converge on the same sums while rows are deleted and recreated`(seed: UInt64)
        async throws
    {
        var world = try CountingWorld(seed: seed, deletes: true)
        for _ in 0..<60 { try await world.step() }
        try await world.settle()
        for device in world.devices {
            #expect(try await world.likes(device) == world.server.sums("photo", "likes"))
            #expect(try await device.store.counts().pending == 0)
        }
    }
}
