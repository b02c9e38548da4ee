// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistCore
import OptimistWire

/// A device of a conformance world.
struct ConformanceDevice {
    let index: Int
    let remote: any Remote
    /// The device's id, which is also the origin of its counts.
    let id: String
    var reading = PageReading(from: "")
    /// The last push. The network may deliver it again.
    private(set) var last: (push: RemotePush, drawn: [DrawnRow])?
    private var clock = HybridClock()
    private var number: Int64 = 0
    /// The latest known lives.
    private var lives: [ConformanceKey: Int] = [:]
    private var totals: [ConformanceKey: [String: Int64]] = [:]

    init(_ index: Int, _ remote: any Remote, seed: UInt64) {
        self.index = index
        self.remote = remote
        id = "device\(index)seed\(seed)"
    }

    /// The request with which a device with counters finds out at each launch whether its file was restored.
    var rewindCheck: RemotePush { RemotePush(number: number, device: id, rows: [], origins: [id]) }

    /// Learns the lives of rows from the pages.
    mutating func learn() {
        for (key, content) in reading.rows {
            switch content {
            case .row(let patch): learn(key, patch.generation ?? 1)
            case .deleted(let tombstone): learn(key, tombstone.generation)
            }
        }
    }

    /// Learns the lives of rows from the verdicts on the last push.
    mutating func learn(_ verdicts: [RemotePush.Verdict]) {
        for (drawn, verdict) in zip(last?.drawn ?? [], verdicts) {
            switch verdict {
            case .accepted: learn(drawn.key, drawn.row.life)
            case .merged(_, let patch): learn(drawn.key, patch.generation ?? drawn.row.life)
            default: break
            }
        }
    }

    private mutating func learn(_ key: ConformanceKey, _ life: Int) {
        guard life > lives[key] ?? 0 else { return }
        // A new life starts with new counters.
        if lives[key] != nil { totals[key] = nil }
        lives[key] = life
    }

    // MARK: - Drawing

    /// - Parameters:
    ///   - milliseconds: The device's wall-clock time.
    ///   - arrival: The number of the push, counting the pushes of all devices.
    mutating func draw(
        _ tables: [RemoteConformance.Table], at milliseconds: Int64, arrival: Int64, using random: inout SplitMix64
    ) -> (push: RemotePush, drawn: [DrawnRow]) {
        let stamp = clock.tick(milliseconds: milliseconds)
        var drawn: [DrawnRow] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let table = tables[Int.random(in: tables.indices, using: &random)]
            var row = draw(in: table, WriteClock(stamp: stamp, device: id), using: &random)
            row.arrival = arrival
            if !drawn.contains(where: { $0.key == row.key }) { drawn.append(row) }
        }
        number += 1
        let isGroup = drawn.count > 1 && Int.random(in: 0..<3, using: &random) == 0
        let push = RemotePush(
            number: number, device: id, rows: drawn.map(\.row), groups: isGroup ? [0..<drawn.count] : [],
            origins: [id])
        last = (push, drawn)
        return (push, drawn)
    }

    private mutating func draw(
        in table: RemoteConformance.Table, _ clock: WriteClock, using random: inout SplitMix64
    ) -> DrawnRow {
        let known = lives.filter { $0.key.table == table.name }.sorted { $0.key.id < $1.key.id }
        let chance = Int.random(in: 0..<100, using: &random)
        let (old, isRefused) = (known.randomElement(using: &random), chance >= 85 && table.refusedRow != nil)
        guard let (key, life) = old, chance >= 30 else {
            return create(Self.newKey(table, &random), life: 1, table, clock, isRefused: false, &random)
        }
        if life % 2 == 0 {
            return create(key, life: life + 1, table, clock, isRefused: false, &random)
        }
        if chance < 40 {
            return DrawnRow(
                row: RemotePush.Row(
                    table: key.table, id: key.id, change: .delete(Tombstone(generation: life + 1, clock: clock))),
                isRefused: false)
        }
        if isRefused, chance >= 95 {
            return create(Self.newKey(table, &random), life: 1, table, clock, isRefused: true, &random)
        }
        return update(key, life: life, table, clock, isRefused: isRefused, &random)
    }

    private func create(
        _ key: ConformanceKey, life: Int, _ table: RemoteConformance.Table, _ clock: WriteClock, isRefused: Bool,
        _ random: inout SplitMix64
    ) -> DrawnRow {
        let make = isRefused ? table.refusedRow ?? table.row : table.row
        let patch = RowPatch(generation: life, clocks: ColumnClocks(common: clock), values: make(&random))
        return DrawnRow(row: RemotePush.Row(table: key.table, id: key.id, change: .create(patch)), isRefused: isRefused)
    }

    private mutating func update(
        _ key: ConformanceKey, life: Int, _ table: RemoteConformance.Table, _ clock: WriteClock, isRefused: Bool,
        _ random: inout SplitMix64
    ) -> DrawnRow {
        var values = JSONObject()
        if isRefused, let refusedRow = table.refusedRow {
            values = refusedRow(&random)
        } else {
            for counter in table.counters where Bool.random(using: &random) {
                let total = (totals[key]?[counter] ?? 0) + Int64.random(in: 1...5, using: &random)
                totals[key, default: [:]][counter] = total
                values.append(counter, CounterPatch.totals([CounterPatch.Total(total)]).json)
            }
            let columns = table.row(&random).members
            let (first, rest) = (columns.randomElement(using: &random)?.key, Bool.random(using: &random))
            for (column, value) in columns where column == first || rest { values.append(column, value) }
        }
        let patch = RowPatch(generation: life, clocks: ColumnClocks(common: clock), values: values)
        return DrawnRow(row: RemotePush.Row(table: key.table, id: key.id, change: .update(patch)), isRefused: isRefused)
    }

    private static func newKey(_ table: RemoteConformance.Table, _ random: inout SplitMix64) -> ConformanceKey {
        func bytes(_ word: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        var all = bytes(random.next()) + bytes(random.next())
        all[6] = all[6] & 0x0F | 0x40
        all[8] = all[8] & 0x3F | 0x80
        let digits = all.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        let id = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
        return ConformanceKey(table: table.name, id: id)
    }
}

extension RemotePush.Row {
    fileprivate var life: Int {
        switch change {
        case .create(let patch), .update(let patch), .move(_, let patch, _): patch.generation ?? 1
        case .delete(let tombstone): tombstone.generation
        }
    }
}
