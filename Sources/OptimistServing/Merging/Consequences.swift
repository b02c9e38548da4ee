// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Works out the effects of a push on other rows: on rows that refer to a deleted row, and on rows that collide.
///
/// All effects belong to the push's transaction. They follow from the state after the complete push, so the order of
/// its operations does not matter.
struct Consequences {
    var rows: WorkingRows
    var clock: ServerClock
    private(set) var faults: [(cause: WorkingRow.Cause, error: SetError)] = []
    /// Deleted rows whose referrers are not checked yet.
    private var dead: [RowKey] = []
    /// The columns that may refer to deleted rows.
    private var unchecked: [(key: RowKey, columns: Set<String>)] = []
    private var restricted: [(target: RowKey, type: String, column: String)] = []
    private var spreadCount = 0
    private let maxSpread: Int
    private let rowValidation: RowValidation
    /// The device that pushes, if it reports what it has read. Nil: unread values are not recorded.
    private let writer: String?
    private var named: Set<RowKey> = []
    /// The rows that move to this account, and the rows that leave it. Deletes do not spread from a row that leaves.
    private var arriving: Set<RowKey> = []
    private var leaving: [RowKey] = []

    /// The most rows of an account that the deletes of one push may delete or change in addition to the rows that the
    /// push names.
    static let maxSpread = 100_000

    init(
        _ rows: WorkingRows, clock: ServerClock, maxSpread: Int = Self.maxSpread,
        rowValidation: RowValidation = RowValidation(), writer: String? = nil
    ) {
        self.writer = writer
        self.rows = rows
        self.clock = clock
        self.maxSpread = maxSpread
        self.rowValidation = rowValidation
    }

    mutating func add(_ evaluation: RowEvaluation, cause: WorkingRow.Cause, isArriving: Bool) {
        named.insert(evaluation.key)
        if isArriving { arriving.insert(evaluation.key) }
        rows.add(WorkingRow(row: evaluation.row, memory: evaluation.memory, cause: cause), at: evaluation.key)
        let isNewlyDead = evaluation.stored?.row.isAlive == true && !evaluation.row.isAlive
        if evaluation.memory.movedTo != evaluation.stored?.memory.movedTo, evaluation.memory.movedTo != nil {
            leaving.append(evaluation.key)
        } else if isNewlyDead {
            dead.append(evaluation.key)
        }
        if evaluation.row.isAlive, !evaluation.taken.isEmpty {
            unchecked.append((evaluation.key, evaluation.taken))
        }
    }

    /// Applies an edit of a merged row to the row it was merged into, unless the app's check refuses the result.
    mutating func follow(_ key: RowKey, _ incoming: MergeRow, cause: WorkingRow.Cause) throws {
        guard let successor = try rows.successor(of: key), try rows.row(successor)?.isAlive == true else { return }
        if let error = try objection(to: incoming, of: key, in: successor) { return blame(cause, error) }
        try absorb(incoming, of: key, into: successor, cause: cause)
    }

    private func objection(to incoming: MergeRow, of key: RowKey, in successor: RowKey) throws -> SetError? {
        guard let type = rows.schema.types[successor.type], rowValidation.checks(successor.type),
            var row = try rows.row(successor)
        else { return nil }
        let taken = row.merge(row.part(of: incoming, of: key)).taken
        return rowValidation.objection(to: row, at: successor, of: type, taken: taken)
    }

    mutating func settle(isPushed: (RowKey, IndexEntry) -> Bool) throws {
        repeat {
            while !dead.isEmpty || !unchecked.isEmpty {
                try checkReferences()
                try spreadDeletes()
            }
        } while try settleCollisions(isPushed)
        try checkRestrictions()
        try checkLeaving()
    }

    /// What the pushing device has read of rows outside its push: nothing, not even its own values. Nil: the device
    /// does not report what it has read.
    var read: ColumnClocks? { writer == nil ? nil : ColumnClocks() }

    /// The device whose own values in a row count as read, because its push names the row.
    private func reader(of key: RowKey) -> String? { named.contains(key) ? writer : nil }

    mutating func blame(_ cause: WorkingRow.Cause, _ error: SetError) { faults.append((cause, error)) }
}

// MARK: - References

extension Consequences {
    private mutating func checkReferences() throws {
        let checks = unchecked
        unchecked = []
        try rows.load(checks.flatMap { check in references(of: check.key, check.columns).map(\.target) })
        for check in checks {
            try rows.step()
            for (column, target) in references(of: check.key, check.columns) {
                guard let working = rows.rows[check.key], working.row.isAlive else { break }
                guard try rows.row(target)?.isAlive == false, try rows.row(target)?.generation != 0 else { continue }
                try settle(check.key, column, target, working.cause)
            }
        }
    }

    private func references(of key: RowKey, _ columns: Set<String>) -> [(column: String, target: RowKey)] {
        guard let type = rows.schema.types[key.type], let row = rows.rows[key]?.row else { return [] }
        return columns.sorted().compactMap { column in
            guard let target = type.columns[column]?.target, let id = row.cells[column]?.value.string else {
                return nil
            }
            return (column, RowKey(target, id))
        }
    }

    private mutating func settle(
        _ key: RowKey, _ column: String, _ target: RowKey, _ cause: WorkingRow.Cause
    ) throws {
        if let successor = try rows.successor(of: target), try rows.row(successor)?.isAlive == true {
            try put(.string(successor.id), key, column, cause)
            return
        }
        // The device may not know yet where the target is, so the row does not change.
        if try arriving.contains(key) || rows.memory(target).movedTo != nil {
            return blame(cause, .blocked(by: [target]))
        }
        switch rows.schema.types[key.type]?.columns[column]?.onDelete {
        case .cascade: try delete(key, with: target, cause)
        case .setNull: try put(.null, key, column, cause)
        case .restrict, nil:
            blame(
                cause,
                SetError(
                    "invalidProperties", "The column \"\(column)\" refers to a deleted row.",
                    properties: [column]))
        }
    }

    /// Counts the referring rows before it reads them.
    private mutating func spreadDeletes() throws {
        let targets = dead
        dead = []
        for (type, column, definition) in rows.references(to: Set(targets.map(\.type))) {
            guard let onDelete = definition.onDelete else { continue }
            let named = targets.filter { $0.type == definition.target }
            let found = try rows.holders(type, column, named.map(\.indexKey)).filter { !$0.value.isEmpty }
            if onDelete == .restrict {
                restricted += named.filter { found[$0.indexKey] != nil }.map { ($0, type, column) }
                continue
            }
            for target in named {
                spreadCount += found[target.indexKey]?.count ?? 0
                guard spreadCount > maxSpread, let cause = rows.rows[target]?.cause else { continue }
                return blame(cause, SetError("tooLarge", "This would change more than \(maxSpread) other rows."))
            }
            try rows.load(found.values.joined())
            for target in named {
                for referrer in found[target.indexKey] ?? [] { try spread(target, to: referrer, column, onDelete) }
            }
        }
    }

    private mutating func spread(
        _ target: RowKey, to referrer: RowKey, _ column: String, _ onDelete: ColumnSchema.OnDelete
    ) throws {
        guard let cause = rows.rows[target]?.cause, try rows.row(referrer)?.isAlive == true else { return }
        switch onDelete {
        case .cascade: try delete(referrer, with: target, cause)
        case .setNull: try put(.null, referrer, column, cause, isLoss: true)
        case .restrict: break
        }
    }

    /// Deletes a row because the row that it refers to is deleted. No edit of the row counts as later than this delete,
    /// even if edits win in its type.
    private mutating func delete(_ key: RowKey, with target: RowKey, _ cause: WorkingRow.Cause) throws {
        guard let row = try rows.row(key), row.isAlive else { return }
        let keepsCells = rows.schema.types[key.type]?.editWins == true
        let deletion = [try rows.row(target)?.deletion, keepsCells ? row.lastEdit : nil].compactMap(\.self).max()
        let stamp = deletion ?? tick(after: row)
        let (reader, read) = (reader(of: key), read)
        try rows.change(key, cause: cause) { working in
            let first = working.memory.firstLife ?? working.row.presentLife
            let ended = working.row.generation
            working.row.merge(MergeRow(generation: ended + 1, deletion: stamp))
            working.memory.firstLife = keepsCells && first != ended ? first : nil
            if !keepsCells { (working.row.cells, working.row.counters) = ([:], [:]) }
            working.memory.noteEnded(row.cells, by: reader, having: read)
        }
        rows.moveToEnd(key)
        dead.append(key)
    }

    /// Writes a value as the server, with a clock later than every clock in the row.
    ///
    /// - Parameter isLoss: Whether the user who wrote the previous value loses it.
    mutating func put(
        _ value: JSON, _ key: RowKey, _ column: String, _ cause: WorkingRow.Cause, isLoss: Bool = false
    ) throws {
        let stamp = tick(after: try rows.row(key) ?? MergeRow())
        let (reader, read) = (reader(of: key), read)
        try rows.change(key, cause: cause) { working in
            if isLoss, let was = working.row.cells[column], was.value != value {
                working.memory.noteEnded([column: was], by: reader, having: read)
            }
            working.row.cells[column] = Cell(value, stamp)
            working.altered.insert(column)
        }
    }

    mutating func tick(after row: MergeRow) -> WriteClock {
        clock.witness(row)
        return clock.tick()
    }

    private mutating func checkRestrictions() throws {
        for (target, type, column) in restricted {
            guard let holder = try rows.holders(type, column, [target.indexKey])[target.indexKey]?.first,
                let cause = rows.rows[target]?.cause
            else { continue }
            blame(cause, SetError("forbidden", "Other rows refer to it, such as \(holder)."))
        }
    }

    /// Rows that refer to a row must move with it.
    private mutating func checkLeaving() throws {
        for (type, column, definition) in rows.references(to: Set(leaving.map(\.type))) {
            let named = leaving.filter { $0.type == definition.target }
            let found = try rows.holders(type, column, named.map(\.indexKey))
            for key in named {
                guard let left = found[key.indexKey], !left.isEmpty, let cause = rows.rows[key]?.cause else { continue }
                blame(cause, .leaves(left))
            }
        }
    }
}

extension Schema {
    typealias Reference = (type: String, column: String, definition: ColumnSchema)

    var references: [Reference] {
        types.sorted { $0.key < $1.key }.flatMap { name, type in
            type.columns.sorted { $0.key < $1.key }.compactMap { column, definition in
                definition.target == nil ? nil : (name, column, definition)
            }
        }
    }
}

// MARK: - Rows that are merged

extension Consequences {
    mutating func merge(_ loser: RowKey, into winner: RowKey, _ cause: WorkingRow.Cause) throws {
        guard let row = try rows.row(loser) else { return }
        let deletion = tick(after: row)
        let life = try rows.row(winner)?.generation
        try rows.change(loser, cause: cause) { working in
            working.row = MergeRow(generation: working.row.generation + 1, deletion: deletion)
            (working.memory.mergedInto, working.memory.mergedLife) = (winner.id, life)
        }
        try absorb(row, of: loser, into: winner, cause: cause)
        try noteLost(row, of: loser, in: winner, cause)
        for (type, column, _) in rows.references(to: [loser.type]) {
            for referrer in try rows.holders(type, column, [loser.indexKey])[loser.indexKey] ?? [] {
                try put(.string(winner.id), referrer, column, cause)
            }
        }
    }

    private mutating func absorb(
        _ other: MergeRow, of key: RowKey, into winner: RowKey, cause: WorkingRow.Cause
    ) throws {
        var taken: Set<String> = []
        let (clock, read) = (clock, read)
        try rows.change(winner, cause: cause) { working in
            let former = working.row.cells(namedBy: other)
            working.setBack(before: other, clock)
            taken = working.absorb(working.row.part(of: other, of: key))
            working.altered.formUnion(taken)
            working.memory.noteReplaced(taken, of: former, by: working.row.cells, having: read)
        }
        if let error = rows.rows[winner]?.objectionToSize { blame(cause, error) }
        unchecked.append((winner, taken))
    }
}

extension MergeRow {
    /// What this row takes from another row that is merged into it.
    ///
    /// If one transaction wrote a column in both rows, the clocks are equal and this row's value stays, because devices
    /// already have it under that clock. Counters add up: each total of the other row remains a separate entry, named
    /// after the row that it was counted for, so that the entry is recognised after further merges.
    func part(of other: MergeRow, of key: RowKey) -> MergeRow {
        var part = MergeRow(
            generation: generation, cells: other.cells.filter { $0.value.clock != cells[$0.key]?.clock })
        part.counters = other.counters.mapValues { totals in
            let named = totals.map { ($0.key.contains(".") ? $0.key : "\($0.key).\(key.id)", $0.value) }
            return Dictionary(named, uniquingKeysWith: { $1 })
        }
        return part
    }
}
