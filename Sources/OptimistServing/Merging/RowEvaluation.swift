// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Decides what one operation makes of one row. Nothing is read or stored here.
struct RowEvaluation {
    let key: RowKey
    let type: TypeSchema
    /// The row with what has been applied. Generation zero: never heard of.
    private(set) var row: MergeRow
    /// The row as it stands on the server, if it does.
    private let stored: StoredRow?
    /// Rows that the new values refer to.
    private(set) var references: [RowKey] = []
    private(set) var hasChanged = false
    /// Whether the row entered a life, rather than continued one.
    private(set) var isBorn = false

    /// No client gets near it. Beyond it a generation would soon be one that no client can read.
    private static let maxGeneration = 1 << 30

    init(key: RowKey, type: TypeSchema, stored: StoredRow?) {
        self.key = key
        self.type = type
        self.stored = stored
        row = stored?.row ?? MergeRow()
    }

    /// Applies an operation. After a refusal the row is as it was.
    mutating func apply(_ action: RowOperation.Action, clock: inout ServerClock) -> RowVerdict {
        let before = self
        let verdict =
            switch action {
            case .create(let patch): merge(patch, isCreate: true, &clock)
            case .update(let patch): merge(patch, isCreate: false, &clock)
            case .destroy(let tombstone): destroy(tombstone, &clock)
            }
        if verdict.isRefusal { self = before }
        return verdict
    }

    private func refused(_ code: String, _ description: String, _ columns: [String] = []) -> RowVerdict {
        .refused(SetError(code, description, properties: columns, current: current))
    }

    /// The server's row, for a device that has to restore it. Nil if there is none alive.
    private var current: RowPatch? { stored.flatMap { $0.row.isAlive ? $0.patch : nil } }
}

// MARK: - Create and update

extension RowEvaluation {
    private mutating func merge(_ patch: RowPatch, isCreate: Bool, _ clock: inout ServerClock) -> RowVerdict {
        if let objection = objection(to: patch) { return objection }
        guard let generation = generation(of: patch, isCreate: isCreate) else {
            return refused("notFound", "The row is not there, or no more.")
        }
        guard generation % 2 == 1, generation <= Self.maxGeneration else {
            return refused("invalidProperties", "The generation of a living row is odd.", ["@gen"])
        }
        if generation < row.generation {
            // The life that the device wrote in has ended. Where the row is deleted, `notFound` without a `current`
            // says so. Where a later life has begun, the whole of it is the answer: it won.
            return row.isAlive
                ? .accepted(won: won(Set(row.cells.keys)))
                : .refused(SetError("notFound", "The row was deleted meanwhile."))
        }
        let (incoming, adjusted) = stamped(patch, generation: generation, &clock)
        let outcome = row.merge(incoming)
        hasChanged = hasChanged || outcome.changedAnything
        isBorn = isBorn || outcome.lifeChanged
        references += references(in: outcome.taken)
        if let objection = objectionToResult() { return objection }
        return .accepted(won: won(outcome.refused.union(adjusted)))
    }

    /// The life that a patch belongs to. Nil: there is none to update.
    ///
    /// A client with clocks means the first life unless it says otherwise; one without means the present one, and
    /// by creating a deleted row it begins the next.
    private func generation(of patch: RowPatch, isCreate: Bool) -> Int? {
        if !isCreate, row.generation == 0 { return nil }
        if let generation = patch.generation { return generation }
        if patch.clocks != nil { return 1 }
        if row.isAlive { return row.generation }
        return isCreate ? row.generation + 1 : nil
    }

    /// Gives every column its clock.
    ///
    /// - Returns: The version to merge, and the columns whose clock is not the one that the sender gave.
    private func stamped(_ patch: RowPatch, generation: Int, _ clock: inout ServerClock) -> (MergeRow, Set<String>) {
        var incoming = MergeRow(generation: generation)
        incoming.cells.reserveCapacity(patch.values.count)
        var adjusted: Set<String> = []
        var ownStamp: Clock?
        for (column, value) in patch.values {
            let mine = generation == row.generation ? row.cells[column] : nil
            if let given = patch.clocks?[column], !clock.isAhead(given) {
                incoming.cells[column] = Cell(value, given)
                continue
            }
            if patch.clocks != nil { adjusted.insert(column) }
            let device = patch.clocks?[column]?.device ?? ServerClock.device
            // Already applied: a repetition must not count as a new write (S3).
            if let mine, mine.value == value, mine.clock.device == device || patch.clocks == nil { continue }
            if ownStamp == nil { clock.witness(row) }
            let stamp = ownStamp.map { Clock(stamp: $0.stamp, device: device) } ?? clock.tick(device: device)
            ownStamp = stamp
            incoming.cells[column] = Cell(value, stamp)
        }
        return (incoming, adjusted)
    }

    private func references(in columns: Set<String>) -> [RowKey] {
        columns.compactMap { column in
            guard let target = type.columns[column]?.target, let id = row.cells[column]?.value.string else {
                return nil
            }
            return RowKey(target, id)
        }
    }

    private func won(_ columns: Set<String>) -> RowPatch? {
        if columns.isEmpty { return nil }
        let cells = row.cells.filter { columns.contains($0.key) }
        return StoredRow(
            row: MergeRow(generation: row.generation, cells: cells), seq: 0, ordinal: 0, bornSeq: 0
        ).patch.withoutSeq
    }
}

// MARK: - Validation

extension RowEvaluation {
    /// Sizes are `tooLarge`; everything else that a column cannot hold is `invalidProperties`.
    private func objection(to patch: RowPatch) -> RowVerdict? {
        var invalid: [(column: String, why: String)] = []
        var oversized: [(column: String, why: String)] = []
        for (column, value) in patch.values {
            guard let definition = type.columns[column] else {
                invalid.append((column, "is unknown"))
                continue
            }
            guard let why = definition.objection(to: value) else { continue }
            if definition.isTooLarge(value) { oversized.append((column, why)) } else { invalid.append((column, why)) }
        }
        let (code, found) = invalid.isEmpty ? ("tooLarge", oversized) : ("invalidProperties", invalid)
        guard let first = found.first else { return nil }
        return refused(code, "The column \"\(first.column)\" \(first.why).", found.map(\.column))
    }

    private func objectionToResult() -> RowVerdict? {
        let missing = type.columns.filter { $0.value.isRequired && row.cells[$0.key]?.value.isNull != false }.map(\.key)
        if let first = missing.min() {
            return refused("invalidProperties", "The column \"\(first)\" is required.", missing.sorted())
        }
        let size = row.cells.reduce(0) { $0 + $1.key.utf8.count + $1.value.value.weight }
        guard size > RowSync.Limit.rowBytes else { return nil }
        return refused("tooLarge", "A row holds at most \(RowSync.Limit.rowBytes) bytes, not \(size).")
    }
}

// MARK: - Destroy

extension RowEvaluation {
    /// With a tombstone, a row that the server never saw is remembered as deleted, so that the order in which a
    /// creation and its deletion arrive does not matter.
    private mutating func destroy(_ tombstone: Tombstone?, _ clock: inout ServerClock) -> RowVerdict {
        guard tombstone != nil || row.isAlive else { return refused("notFound", "The row is not there, or no more.") }
        let generation = tombstone?.generation ?? row.generation + 1
        guard generation >= 2, generation % 2 == 0, generation <= Self.maxGeneration else {
            return refused("invalidProperties", "The generation of a deleted row is even.", ["@gen"])
        }
        let given = tombstone?.clock
        var deletion = given
        if given.map(clock.isAhead) ?? true {
            // A repetition must not count as a new deletion (S3).
            if generation == row.generation { return .accepted(won: nil) }
            clock.witness(row)
            deletion = clock.tick(device: given?.device ?? ServerClock.device)
        }
        let former = row.deletion
        let outcome = row.merge(MergeRow(generation: generation, deletion: deletion))
        // What is deleted is gone: only a type that lets edits revive a row would have to keep its values.
        if !row.isAlive { row.cells = [:] }
        hasChanged = hasChanged || outcome.changedAnything || row.deletion != former
        return .accepted(won: nil)
    }
}

extension JSON {
    /// How much room a value takes, in bytes of its text before escaping.
    fileprivate var weight: Int {
        switch self {
        case .null, .bool, .int, .double: 8
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(2) { $0 + $1.weight + 1 }
        case .object(let object): object.members.reduce(2) { $0 + $1.key.utf8.count + $1.value.weight + 2 }
        }
    }
}

extension RowPatch {
    fileprivate var withoutSeq: RowPatch {
        var patch = self
        patch.seq = nil
        return patch
    }
}
