// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The changes of a space's member rows that the server makes without a member's push. Their clocks are later than the
/// rows'.
struct MemberEdit {
    private let account: any AccountTransaction
    private let type: String
    private var clock: ServerClock
    private var changes: [RowChange] = []
    private var events: SpaceEvents

    init(_ account: any AccountTransaction, _ type: String, _ clock: ServerClock) {
        self.account = account
        self.type = type
        self.clock = clock
        events = SpaceEvents(
            types: SpaceTypes(member: type), person: nil, device: nil, access: account.access,
            milliseconds: clock.milliseconds)
    }

    /// The member rows of a person, deleted ones included.
    func rows(of person: String) throws -> [String: StoredRow] {
        var found: [String: StoredRow] = [:]
        var place: LogPosition? = LogPosition(seq: 0, ordinal: 0)
        while let start = place {
            let page = try account.changes(type: type, from: start, limit: 500, maxBytes: AnswerLimit.pageBytes)
            let rows = try account.rows(type: type, ids: page.rows.map(\.id))
            found.merge(rows.filter { $0.value.memory.person == person }) { $1 }
            place = page.next
        }
        return found
    }

    mutating func add(_ id: String, of person: String, _ values: [String: JSON]) {
        let stamp = clock.tick()
        let row = MergeRow(generation: 1, cells: values.mapValues { Cell($0, stamp) })
        append(id, row, RowMemory(person: person), former: nil, growth: 1, end: nil)
    }

    mutating func change(_ membership: Membership, _ values: [String: JSON], end: AccessEnd.Reason? = nil) throws {
        guard let stored = try account.rows(type: type, ids: [membership.memberID])[membership.memberID] else { return }
        change(membership.memberID, stored, values, end: end)
    }

    /// - Parameter end: Deletes the row, and ends the membership for this reason.
    mutating func change(
        _ id: String, _ stored: StoredRow, _ values: [String: JSON], end: AccessEnd.Reason? = nil
    ) {
        var row = stored.row
        clock.witness(row)
        let stamp = clock.tick()
        for (column, value) in values { row.cells[column] = Cell(value, stamp) }
        if end != nil {
            row.generation += 1
            row.deletion = stamp
        }
        append(id, row, stored.memory, former: stored, growth: end == nil ? 0 : -1, end: end)
    }

    private mutating func append(
        _ id: String, _ row: MergeRow, _ memory: RowMemory, former: StoredRow?, growth: Int, end: AccessEnd.Reason?
    ) {
        var memory = memory
        memory.writer = .server
        var change = RowChange(
            key: RowKey(type, id), row: row, memory: memory, bornSeq: former?.bornSeq, droppedEntries: [],
            addedEntries: [], growth: growth)
        if let person = memory.person, row.isAlive || end != nil {
            change.membership = MembershipChange(person: person, memberID: id, role: row.role, end: end)
        }
        changes.append(change)
        events.add(change, former: former?.row)
    }

    /// Stores the changes. Without changes the account's state stays.
    func store() throws -> SpaceCare.Change {
        var noted: [SpaceEvent] = []
        if !changes.isEmpty {
            _ = try account.append(changes, day: clock.day)
            noted = try account.note(events.all)
        }
        return SpaceCare.Change(state: SyncState(epoch: account.epoch, seq: account.seq), events: noted)
    }
}
