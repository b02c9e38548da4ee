// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// Two devices that write values of every type into columns of every declared type, and sync now and then.
private struct ValueWorld {
    private struct Cell: Hashable {
        let row: Int
        let column: String
    }
    private struct Edit {
        let number: Int
        let literal: String
    }

    private let lab: Specimens
    private var random: SplitMix64
    private let rows = (1...3).map {
        Specimen(id: UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)") ?? UUID())
    }
    /// The literals in each cell on both devices after the last sync.
    private var synced: [Cell: String] = [:]
    /// The edits of each device since the last sync.
    private var unsent: [[Cell: Edit]] = [[:], [:]]
    private var writes = 0
    private var refusals = 0

    init(seed: UInt64) async throws {
        lab = try Specimens()
        random = SplitMix64(seed: seed)
        let rows = rows
        try await lab.here.store.write { db in for row in rows { try row.insert(db) } }
        try await lab.sync()
    }

    private func device(_ index: Int) -> Device { index == 0 ? lab.here : lab.there }

    mutating func step() async throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try await sync()
        case 1: try await refuse()
        case 2: try await discard()
        default: try await write()
        }
    }

    private mutating func write() async throws {
        let index = Int.random(in: 0...1, using: &random)
        let column = Specimen.columns.randomElement(using: &random) ?? "word"
        let cell = Cell(row: Int.random(in: 0..<rows.count, using: &random), column: column)
        let value = AnyValue.random(using: &random)
        for device in [lab.here, lab.there] { device.advance(10) }
        let before = try await device(index).literal(column, of: rows[cell.row])
        do {
            try await device(index).set(column, value.literal, in: rows[cell.row])
        } catch let error as OptimistError {
            #expect(error.code == .unfitValue)
            #expect(try await device(index).literal(column, of: rows[cell.row]) == before)
            refusals += 1
            return
        }
        writes += 1
        let after = try await device(index).literal(column, of: rows[cell.row])
        if Self.areSame(after, before) { return }
        let isBack = Self.areSame(after, synced[cell] ?? "NULL")
        unsent[index][cell] = isBack ? nil : Edit(number: writes, literal: after)
    }

    /// Whether SQLite considers two literals the same value.
    private static func areSame(_ a: String, _ b: String) -> Bool {
        guard let a = SQLLiteral.parse(a), let b = SQLLiteral.parse(b) else { return false }
        return a.isSame(as: b)
    }

    private mutating func sync() async throws {
        try await lab.sync()
        let edits = unsent[0].merging(unsent[1]) { $0.number > $1.number ? $0 : $1 }
        for (cell, edit) in edits { synced[cell] = edit.literal }
        unsent = [[:], [:]]
        for device in [lab.here, lab.there] {
            #expect(try await device.store.counts().pending == 0)
            #expect(try await device.store.rejections().isEmpty, "the server refuses no value that the device accepted")
        }
        try await compare()
    }

    private mutating func refuse() async throws {
        let index = Int.random(in: 0...1, using: &random)
        try await device(index).sync(with: lab.server) { _ in
            RemotePush.Refusal(code: "invalidProperties", message: "Not today.")
        }
        try await forget(index)
    }

    private mutating func discard() async throws {
        let index = Int.random(in: 0...1, using: &random)
        try await device(index).store.discardPending()
        try await forget(index)
    }

    private mutating func forget(_ index: Int) async throws {
        for rejection in try await device(index).store.rejections() {
            try await device(index).store.discard(rejection)
        }
        unsent[index] = [:]
        #expect(try await device(index).store.counts().pending == 0)
        try await compare(only: index)
    }

    private func compare(only index: Int? = nil) async throws {
        for number in 0...1 where index == nil || index == number {
            for row in rows.indices {
                let found = try await device(number).literals(Specimen.columns, of: rows[row])
                for (column, found) in zip(Specimen.columns, found) {
                    let expected = synced[Cell(row: row, column: column)] ?? "NULL"
                    if found == expected || Self.areSameJSON(found, expected) { continue }
                    Issue.record("\(column) on device \(number): \(found) and not \(expected)")
                }
            }
        }
    }

    /// Whether both are equal JSON. A device spells received JSON in its own way.
    private static func areSameJSON(_ a: String, _ b: String) -> Bool {
        func json(_ literal: String) -> JSON? {
            guard case .string(let text)? = SQLLiteral.parse(literal)?.storage else { return nil }
            return try? JSON(parsing: text.utf8)
        }
        guard let a = json(a), let b = json(b) else { return false }
        return a == b
    }

    mutating func end() async throws {
        try await sync()
        #expect(writes > 0 && refusals > 0)
    }
}

@Suite(.timeLimit(.minutes(120)))
struct ValueFuzzTests {
    private static let seeds: ClosedRange<UInt64> = TestForm.of(short: 1...4, full: 1...20, soak: 1...2_000)

    @Test(arguments: seeds)
    func `W10 R1 any value in a column of any type arrives unchanged or is refused at the write`(
        seed: UInt64
    ) async throws {
        var world = try await ValueWorld(seed: seed)
        for _ in 0..<200 { try await world.step() }
        try await world.end()
    }
}
