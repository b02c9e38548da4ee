// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// Two devices write to the same two rows, and the server refuses about half of their pushes. Between a push and its
/// answer the other device syncs, pages arrive, and the users write. The seed decides the order.
private struct RefusingWorld {
    let server = AppServer()
    let devices: [Device]
    let ids = (1...2).map { UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID() }
    var random: SplitMix64

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        devices = try (0..<2).map {
            try Device([Photo.self], at: 1_790_000_000_000 + 1_000 * Int64($0), migrate: Photo.migrate)
        }
    }

    mutating func step() async throws {
        let isFirst = Bool.random(using: &random)
        let (writer, other) = isFirst ? (devices[0], devices[1]) : (devices[1], devices[0])
        for _ in 0..<Int.random(in: 0...3, using: &random) { try await write(on: writer) }
        for _ in 0..<Int.random(in: 0...2, using: &random) { try await write(on: other) }
        let refusal = Bool.random(using: &random) ? RemotePush.Refusal(code: "forbidden", message: "no") : nil
        if let batch = try await writer.next() {
            let verdicts = try await server.push(batch.push, refusing: { _ in refusal })
            if Bool.random(using: &random) { try await other.sync(with: server) }
            if Bool.random(using: &random) { try await writer.apply(try await writer.pull(from: server)) }
            if Bool.random(using: &random) { try await write(on: writer) }
            try await writer.store.apply(verdicts, of: batch)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { try await writer.sync(with: server) }
    }

    private mutating func write(on device: Device) async throws {
        let id = ids[Int.random(in: 0..<ids.count, using: &random)]
        let title = "\(Int.random(in: 0..<1_000, using: &random))"
        device.advance(Int64.random(in: 1...3_000, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try await device.execute("DELETE FROM photo WHERE id = ?", [id])
        case 1: try await device.execute("UPDATE photo SET title = ? WHERE id = ?", [title, id])
        case 2: try await device.execute("UPDATE photo SET likes = likes + 1 WHERE id = ?", [id])
        default: try await device.execute("INSERT OR REPLACE INTO photo(id, title) VALUES (?, ?)", [id, title])
        }
    }

    /// The rows of a table, without the unused counter.
    private func shown(_ rows: [String: JSONObject]) -> [String: JSONObject] {
        rows.mapValues { JSONObject($0.members.filter { $0.key != "views" }) }
    }

    func settle() async throws {
        for _ in 0..<3 {
            for device in devices { try await device.sync(with: server) }
        }
        for device in devices {
            #expect(try await shown(device.rows("photo")) == shown(server.rows("photo")))
            let counts = try await device.store.counts()
            #expect((counts.pending, counts.parked) == (0, 0))
        }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct RefusalConvergenceTests {
    @Test(arguments: 1...TestForm.of(short: 4, full: 60) as ClosedRange<UInt64>)
    func `M1 R2 all devices end with the server's rows, whatever it refuses while pages arrive`(seed: UInt64)
        async throws
    {
        var world = try RefusingWorld(seed: seed)
        for _ in 0..<25 { try await world.step() }
        try await world.settle()
    }
}
