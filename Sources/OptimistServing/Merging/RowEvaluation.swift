// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Decides how operations change one row, regardless of other rows. It reads and stores nothing.
struct RowEvaluation {
    let key: RowKey
    let type: TypeSchema
    /// The row after the operations applied so far. Generation zero: the server has never had the row.
    var row: MergeRow
    var memory: RowMemory
    let stored: StoredRow?
    /// The columns that took a value from the operations, or all columns if the row began a new life.
    var taken: Set<String> = []
    var hasOwnClocks = true
    var pusher: String?
    var read: ColumnClocks?

    /// The highest generation. Real clients never come near this generation, and could not read a much higher
    /// generation.
    private static let maxGeneration = 1 << 30

    init(key: RowKey, type: TypeSchema, stored: StoredRow?) {
        self.key = key
        self.type = type
        self.stored = stored
        row = stored?.row ?? MergeRow()
        memory = stored?.memory ?? RowMemory()
    }

    /// If an operation is refused, the row does not change.
    mutating func apply(
        _ action: RowOperation.Action, validation: RowValidation = RowValidation(),
        texts: MatchedTexts = MatchedTexts(), clock: inout ServerClock
    ) -> RowStep {
        let before = self
        var step =
            switch action {
            case .create(let patch): merge(patch, isCreate: true, texts, &clock)
            case .update(let patch): merge(patch, isCreate: false, texts, &clock)
            case .destroy(let tombstone): destroy(tombstone, &clock)
            }
        if case .merged = step, let error = objection(by: validation) { step = .refused(error) }
        if step.isRefusal { self = before }
        return step
    }

    /// Notes the person whose member row this is.
    mutating func noteOwner(_ person: String) { memory.person = person }

    func refused(_ code: String, _ description: String, _ columns: [String] = []) -> RowStep {
        .refused(SetError(code, description, properties: columns))
    }
}

// MARK: - Create and update

extension RowEvaluation {
    private mutating func merge(
        _ patch: RowPatch, isCreate: Bool, _ texts: MatchedTexts, _ clock: inout ServerClock
    ) -> RowStep {
        if let objection = objection(to: patch, isCreate: isCreate, texts) { return objection }
        guard let generation = generation(of: patch, isCreate: isCreate) else {
            return refused("notFound", "The row does not exist, or was deleted.")
        }
        guard generation % 2 == 1, generation <= Self.maxGeneration else {
            return refused("invalidProperties", "The generation of a living row must be odd.", ["@gen"])
        }
        if !isCreate, patch.generation != nil, generation > row.generation {
            // The patch has only some columns of a life that the server does not know. The other columns would be lost.
            return lifeUnknown
        }
        // The earliest life that the patch's life continues.
        let first = min(patch.firstLife ?? generation, generation)
        if hasLeft(life: generation, since: first) { return .gone }
        if first < row.generation, memory.mergedInto != nil {
            // Lives before the merged life had already ended.
            if generation < firstLife { return .gone }
            let incoming = stamped(patch, generation: generation, &clock).0
            return objectionToSize() ?? .follow(incoming)
        }
        if row.isAlive || type.editWins, generation < row.generation, generation >= firstLife {
            let incoming = stamped(patch, generation: generation, &clock).0
            if !isCreate, isOnlyKnownAsDeleted {
                // As above: the row would be revived with only the columns of the edit.
                return isBroughtBack(by: incoming) ? lifeUnknown : objectionToSize() ?? .gone
            }
            return mergeJoined(incoming, life: generation)
        }
        if generation > row.generation, first <= row.generation {
            // The server has lost later lives of the row, such as its moves to another account and back.
            if !row.isAlive { return .gone }
            (memory.firstLife, memory.hasMoved) = (firstLife, true)
            row.generation = generation
        }
        // The life that the device wrote to has ended. If a later life has begun, the answer is that complete life.
        if generation < row.generation { return row.isAlive ? .merged(life: generation, lost: []) : .gone }
        // Keep the clocks that the devices know, because the next line may set back the row's clocks.
        let former = row
        let (incoming, adjusted) = stamped(patch, generation: generation, &clock)
        let outcome = row.merge(incoming)
        row.forgetEmptyTotals()
        taken.formUnion(outcome.taken)
        noteUnread(of: former, outcome)
        if outcome.lifeChanged {
            memory = memory.ofNextLife
            if first < generation { (memory.firstLife, memory.hasMoved) = (first, true) }
            if let objection = objectionToBirth() { return objection }
        }
        if let objection = objectionToSize() { return objection }
        return .merged(life: generation, lost: outcome.refused.union(adjusted))
    }

    private mutating func noteUnread(of former: MergeRow, _ outcome: MergeRow.Outcome) {
        guard outcome.lifeChanged else {
            return memory.noteReplaced(outcome.taken, of: former.cells, by: row.cells, having: read)
        }
        memory.forgetUnread(of: row.cells)
        guard former.isAlive else { return }
        let device = row.cells.values.first?.clock.device
        memory.noteEnded(former.cells, by: device, having: read, besides: row.cells)
    }

    private var lifeUnknown: RowStep {
        refused(
            "lifeUnknown", "The server does not know this life of the row. Compare, and send the complete row.")
    }

    /// The generation of the life that a patch belongs to. Nil: there is no life to update.
    ///
    /// If the patch has no generation, a client with clocks means the first life, and a client without clocks the
    /// current life. If a client without clocks creates a deleted row, it begins the next life.
    private func generation(of patch: RowPatch, isCreate: Bool) -> Int? {
        if !isCreate, row.generation == 0 { return nil }
        if let generation = patch.generation { return generation }
        if patch.clocks != nil { return 1 }
        if row.isAlive { return row.generation }
        return isCreate ? row.generation + 1 : nil
    }

    /// Assigns each column its clock. If clocks of the row are far ahead, sets them back to just before the patch's
    /// clocks.
    ///
    /// - Returns: The version to merge, and the columns whose clock differs from the sender's.
    private mutating func stamped(
        _ patch: RowPatch, generation: Int, _ clock: inout ServerClock
    ) -> (MergeRow, Set<String>) {
        var stamping = Stamping(
            row: row, isSameLife: generation == row.generation, memory: memory, clock: clock,
            believesEqualClocks: hasOwnClocks, pusher: pusher)
        var incoming = MergeRow(generation: generation)
        incoming.cells.reserveCapacity(patch.values.count)
        for (column, value) in patch.values {
            if type.columns[column]?.type == .counter {
                let totals =
                    CounterPatch(json: value).map { stamping.totals($0, column, patch.clocks?[column]) }
                    ?? (generation > row.generation ? stamping.total(value, column, patch.clocks?[column]) : nil)
                if let totals, !totals.isEmpty { incoming.counters[column] = totals }
            } else if let stamp = stamping.stamp(
                value, column, patch.clocks?[column], isStampedBySender: patch.clocks != nil)
            {
                incoming.cells[column] = Cell(value, stamp)
            }
        }
        (clock, memory) = (stamping.clock, stamping.memory)
        row.setBack(before: incoming, &memory, clock)
        return (incoming, stamping.adjusted)
    }
}

// MARK: - Destroy

extension RowEvaluation {
    /// Deletes the row. If the operation has a tombstone, the server records the deletion even if it never had the row,
    /// so that the creation and the deletion may arrive in any order.
    private mutating func destroy(_ tombstone: Tombstone?, _ clock: inout ServerClock) -> RowStep {
        guard tombstone != nil || row.isAlive else {
            return refused("notFound", "The row does not exist, or was deleted.")
        }
        guard RowID.isValid(key.id) else {
            return refused("invalidProperties", "The id is not a lower-case UUID.", ["id"])
        }
        let generation = tombstone?.generation ?? row.generation + 1
        guard generation >= 2, generation % 2 == 0, generation <= Self.maxGeneration else {
            return refused("invalidProperties", "The generation of a deleted row must be even.", ["@gen"])
        }
        let life = generation - 1
        if hasLeft(life: life, since: min(tombstone?.firstLife ?? life, life)) { return .gone }
        var stamping = Stamping(row: row, isSameLife: false, memory: memory, clock: clock)
        // A repetition must not count as a new deletion (S3), even if a later life has begun (M2).
        let isRepetition = tombstone?.clock == nil && generation <= row.generation
        if isRepetition { return .destroyed }
        let deletion = stamping.stamp(deletion: tombstone.flatMap { $0.clock ?? earliestDeletion })
        clock = stamping.clock
        // A delete is never refused as too large. Clocks beyond the limit are dropped instead.
        if stamping.memory.weight <= RowSync.Limit.rowBytes { memory = stamping.memory }
        let former = row
        row.setBack(before: MergeRow(deletion: deletion), &memory, clock)
        end(generation, at: deletion)
        if former.isAlive, !row.isAlive { memory.noteEnded(former.cells, by: deletion.device, having: read) }
        return .destroyed
    }

    mutating func setBack(before incoming: MergeRow, _ clock: ServerClock) {
        row.setBack(before: incoming, &memory, clock)
    }

    /// The assumed clock of a deletion without a clock. If the server has lost a deletion and a device sends the
    /// deletion again without a time, the server uses the time of the row's last edit, so that only a later edit
    /// revives the row.
    private var earliestDeletion: WriteClock? { type.editWins && row.isAlive ? row.lastEdit : nil }

    private mutating func end(_ generation: Int, at deletion: WriteClock) {
        guard type.editWins else {
            // A delete of any joined life ends the present life.
            let isOfPresentLife = row.isAlive && generation > firstLife
            let ending = isOfPresentLife ? max(generation, row.generation + 1) : generation
            let outcome = row.merge(MergeRow(generation: ending, deletion: deletion))
            if outcome.lifeChanged { memory = memory.ofNextLife }
            // Only a type whose edits can revive a deleted row has to keep the values.
            if !row.isAlive { (row.cells, row.counters) = ([:], [:]) }
            return
        }
        endJoined(generation, at: deletion)
    }
}

// MARK: - Joined lives (M2)

extension RowEvaluation {
    /// The first of the lives that continue in the row's present life. An edit of one of these lives is an edit of the
    /// present life.
    var firstLife: Int { memory.firstLife ?? row.presentLife }

    /// Whether a life continues in another account, where the row has moved to.
    private func hasLeft(life: Int, since first: Int) -> Bool {
        memory.movedTo != nil && life >= firstLife && first < row.generation
    }

    /// Whether the server did not have the row, or had forgotten it, when its delete arrived. Otherwise the row has
    /// values, or its first life is recorded.
    private var isOnlyKnownAsDeleted: Bool {
        !row.isAlive && row.cells.isEmpty && row.counters.isEmpty && memory.firstLife == nil
            && type.columns.values.contains { $0.type != .counter }
    }

    private func isBroughtBack(by incoming: MergeRow) -> Bool {
        guard let deletion = row.deletion, let edit = incoming.lastEdit else { return false }
        return edit > deletion
    }

    private mutating func mergeJoined(_ incoming: MergeRow, life: Int) -> RowStep {
        var joined = MergeRow(generation: 1, cells: row.cells, counters: row.counters)
        let outcome = joined.merge(MergeRow(generation: 1, cells: incoming.cells, counters: incoming.counters))
        let former = row.cells
        (row.cells, row.counters) = (joined.cells, joined.counters)
        row.forgetEmptyTotals()
        taken.formUnion(outcome.taken)
        memory.noteReplaced(outcome.taken, of: former, by: row.cells, having: read)
        if let objection = objectionToSize() { return objection }
        settleLife()
        return row.isAlive ? .merged(life: life, lost: outcome.refused) : .gone
    }

    private mutating func endJoined(_ generation: Int, at deletion: WriteClock) {
        let first = firstLife
        if generation > row.generation {
            let continues = row.isAlive && generation == row.generation + 1
            row.merge(MergeRow(generation: generation, deletion: deletion))
            (memory.mergedInto, memory.mergedLife, memory.movedTo) = (nil, nil, nil)
            memory.firstLife = continues ? first : nil
        } else if generation > first, row.isAlive {
            // An edit revived the row. This delete of an earlier life may be later than that edit.
            guard row.lastEdit.map({ $0 <= deletion }) ?? true else { return }
            row.merge(MergeRow(generation: row.generation + 1, deletion: deletion))
            memory.firstLife = first
        } else if generation > first {
            row.deletion = max(row.deletion ?? deletion, deletion)
        }
        settleLife()
    }

    private mutating func settleLife() {
        guard !row.isAlive, memory.mergedInto == nil, let deletion = row.deletion, let edit = row.lastEdit,
            edit > deletion, missingColumns.isEmpty
        else { return }
        memory.firstLife = firstLife
        row.generation += 1
        row.deletion = nil
        memory.forgetUnread(of: row.cells)
        taken.formUnion(row.cells.keys)
    }
}

extension RowMemory {
    /// The memory of a row whose life begins or ends.
    fileprivate var ofNextLife: RowMemory { RowMemory(replaced: replaced, unread: unread, person: person) }
}

extension MergeRow {
    var presentLife: Int { isAlive ? generation : max(generation - 1, 0) }

    var lastEdit: WriteClock? {
        let counted = counters.values.lazy.flatMap(\.values).map(\.clock)
        return [cells.values.lazy.map(\.clock).max(), counted.max()].compactMap(\.self).max()
    }
}
