// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The stored form of a row: the JSON that pages send, and the data that pages omit.
@_spi(Internals) extension StoredRow {
    public func content(id: String) -> [UInt8] {
        if row.isAlive { return JSON.object(patch().json(id: id)).bytes }
        var tombstone = Tombstone(
            generation: row.generation, clock: row.deletion, seq: seq, mergedInto: memory.mergedInto)
        tombstone.unread = memory.unread
        (tombstone.movedTo, tombstone.firstLife) = (memory.movedTo, memory.toldFirstLife)
        return tombstone.json.bytes
    }

    /// The JSON of the data that pages omit. Nil: the row does not have such data, like most rows of a person alone.
    public var hidden: [UInt8]? {
        var object = JSONObject()
        if !row.counters.isEmpty { object.append("totals", .map(row.counters) { .map($0) { $0.json } }) }
        if !row.isAlive, !row.cells.isEmpty { object.append("cells", .map(row.cells) { $0.json }) }
        if let life = memory.mergedLife { object.append("mergedLife", .int(Int64(life))) }
        if let first = memory.firstLife { object.append("firstLife", .int(Int64(first))) }
        if !memory.replaced.isEmpty { object.append("replaced", .map(memory.replaced) { .map($0) { $0.json } }) }
        if let person = memory.person { object.append("person", .string(person)) }
        if let writer = memory.writer { object.append("writer", .string(writer.text)) }
        return object.isEmpty ? nil : JSON.object(object).bytes
    }

    /// Reads a row from its stored bytes, or returns nil if they are malformed.
    public init?(content: [UInt8], hidden: [UInt8]?, seq: Int64, ordinal: Int, bornSeq: Int64) {
        guard let members = (try? JSON(parsing: content))?.object, let patch = RowPatch(json: members),
            let generation = patch.generation
        else { return nil }
        self.init(row: MergeRow(generation: generation), seq: seq, ordinal: ordinal, bornSeq: bornSeq)
        memory.mergedInto = patch.mergedInto
        memory.unread = patch.unread
        if let hidden {
            guard let json = try? JSON(parsing: hidden), read(hidden: json) else { return nil }
        }
        memory.hasMoved = patch.firstLife != nil
        guard row.isAlive else {
            row.deletion = patch.clocks?.common
            memory.movedTo = Tombstone(json: .object(members))?.movedTo
            return
        }
        row.cells.reserveCapacity(patch.values.count)
        for (column, value) in patch.values where row.counters[column] == nil {
            guard let clock = patch.clocks?[column] else { return nil }
            row.cells[column] = Cell(value, clock)
        }
    }

    private mutating func read(hidden json: JSON) -> Bool {
        guard let totals = json["totals"].readMap({ $0.readMap(CounterTotal.init(json:)) }),
            let cells = json["cells"].readMap(Cell.init(json:)),
            let replaced = json["replaced"].readMap({ $0.readMap(ReplacedClock.init(json:)) })
        else { return false }
        row.counters = totals
        row.cells = cells
        memory.mergedLife = json["mergedLife"]?.int.map(Int.init)
        memory.firstLife = json["firstLife"]?.int.map(Int.init)
        memory.replaced = replaced
        memory.person = json["person"]?.string
        memory.writer = (json["writer"]?.string).map(Writer.init(text:))
        return true
    }
}

extension LoggedRow {
    /// The row's JSON for a page, with the counter totals of these origins.
    func content(for origins: Set<String>) -> [UInt8] {
        guard isAlive, let hidden, hidden.starts(with: Self.totalsStart), !origins.isEmpty,
            let totals = (try? JSON(parsing: hidden))?["totals"].readMap({ $0.readMap(CounterTotal.init(json:)) })
        else { return content }
        let mine = totals.mapValues { $0.filter { origins.contains($0.key) }.mapValues(\.total) }.filter {
            !$0.value.isEmpty
        }
        if mine.isEmpty { return content }
        // The object always has an id, so a comma must precede the next member.
        return content.dropLast() + Array(",\"@mine\":".utf8) + RowPatch.json(ofMine: mine).bytes + [UInt8(ascii: "}")]
    }

    /// The first bytes of ``StoredRow/hidden`` if the row has counters.
    private static let totalsStart = Array("{\"totals\":".utf8)
}

// MARK: - Parts

extension Cell {
    fileprivate var json: JSON { [value, .string(clock.description)] }
    fileprivate init?(json: JSON) {
        guard let parts = json.array, parts.count == 2, let clock = parts[1].string.flatMap({ WriteClock($0) }) else {
            return nil
        }
        self.init(parts[0], clock)
    }
}

extension CounterTotal {
    fileprivate var json: JSON { [.int(total), .string(clock.description)] }
    fileprivate init?(json: JSON) {
        guard let parts = json.array, parts.count == 2, let total = parts[0].int,
            let clock = parts[1].string.flatMap({ WriteClock($0) })
        else { return nil }
        self.init(total, clock)
    }
}

extension ReplacedClock {
    fileprivate var json: JSON { [.string(given.description), .string(stamp.description)] }
    fileprivate init?(json: JSON) {
        let clocks = json.array?.compactMap { $0.string.flatMap { WriteClock($0) } } ?? []
        guard clocks.count == 2 else { return nil }
        self.init(given: clocks[0], stamp: clocks[1])
    }
}

extension JSON {
    fileprivate static func map<Value>(_ values: [String: Value], _ json: (Value) -> JSON) -> JSON {
        .object(JSONObject(values.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }))
    }

    fileprivate func readMap<Value>(_ read: (JSON) -> Value?) -> [String: Value]? {
        var values: [String: Value] = [:]
        for (key, json) in object?.members ?? [] {
            guard let value = read(json) else { return nil }
            values[key] = value
        }
        return values
    }
}

extension JSON? {
    fileprivate func readMap<Value>(_ read: (JSON) -> Value?) -> [String: Value]? {
        map { $0.readMap(read) } ?? [:]
    }
}
