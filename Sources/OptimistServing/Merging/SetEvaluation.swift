// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Decides how a push changes the rows it names and the rows that depend on them, in one or several accounts. It reads
/// from snapshots; the caller stores the result.
///
/// It evaluates rows in units: a group, or a single row. A unit is applied completely or not at all, whatever accounts
/// it spans. Units share no row, so each is first evaluated alone, and ``Consequences`` then checks them together,
/// account by account. Units at fault are dropped, and the rest is checked again until no unit is at fault.
struct SetEvaluation {
    var verdicts: [RowVerdict] = []
    /// The changed rows of each account, beginning with the rows that the push names, in the order of the push.
    private(set) var changes: [[RowChange]] = []
    /// The ends of the moved rows in the accounts that they left, by operation.
    private(set) var departures: [Int: Tombstone] = [:]
    /// The places of the spaces that the sender joins.
    private(set) var joined: Set<Int> = []
    var clock: ServerClock

    let operations: [RowOperation]
    private(set) var context: Context
    private(set) var units: Units
    var steps: [RowStep] = []
    var books: [Book]

    /// The rows of one account. Their references, deletes and unique values reach no other account.
    struct Book {
        let snapshot: any AccountSnapshot
        let reader: RowReader
        /// The reader's right to the account.
        var access: Access
        var evaluations: [RowKey: RowEvaluation] = [:]
        /// If the push names later lives of a row than the first: the latest of these lives.
        fileprivate var lives: [RowKey: Int] = [:]

        init(_ snapshot: any AccountSnapshot, in context: Context) {
            self.snapshot = snapshot
            access = snapshot.access
            reader = RowReader(snapshot, schema: context.schema, meter: context.meter)
        }

        var account: String { snapshot.account }
    }

    /// A row, and the place of its account.
    struct Row: Hashable {
        var book: Int
        var key: RowKey
    }

    struct Context {
        var schema: Schema
        var spaceTypes = SpaceTypes()
        var spaceLimits = SpaceLimits()
        /// The sender's spaces, if the push may enter one.
        var spaces: SpaceCount?
        /// The sender of the push.
        var writer = Writer.server
        var device: String?
        var origins: Set<String> = []
        var validate: ServingSettings.Validation = { _ in nil }
        var rowValidation = RowValidation()
        var hook: HookCalls?
        var unreadTypes: Set<String> = []
        var maxAnswerBytes = AnswerLimit.requestBytes
        var maxSpread = Consequences.maxSpread
        var meter: WorkMeter?
        /// The texts already matched with their columns' patterns.
        var texts = MatchedTexts()

        /// The sender, if it is a person.
        var person: String? { if case .person(let id) = writer { id } else { nil } }
    }

    /// The server postpones a push after this many rounds, so that evaluation always ends.
    private static let maxRounds = 64
    /// The most rows at fault that an error names. Every other row of the unit repeats the list.
    private static let maxCulprits = 16

    /// Groups that share a row count as one group. Read `clock` back afterwards.
    ///
    /// - Parameter books: The accounts. An operation names its account by the account's place in this list.
    init(
        _ operations: [RowOperation], groups: [[RowKey]] = [], in context: Context, over books: [Book],
        clock: ServerClock
    ) throws {
        self.operations = operations
        self.context = context
        self.clock = clock
        self.books = books
        units = Units(operations, groups, unreadTypes: context.unreadTypes)
        context.meter?.canBeHalved = units.all.count > 1
        noteLives()
        for (place, book) in books.enumerated() {
            let own = operations.lazy.filter { $0.book == place || $0.source == place }
            try book.reader.load(own.flatMap { [$0.key] + context.schema.references(of: $0) })
        }
        try evaluateRows()
        try askApp()
        try failBlocked()
        let rows = try settle()
        joined = Set(try books.indices.filter { try isJoined($0, rows[$0]) })
        verdicts = try operations.indices.map { try verdict(of: $0, rows) }
        for index in operations.indices { departures[index] = try departure(of: index, rows) }
        putOffTheLargest()
        changes = try zip(books.indices, rows).map { place, rows in
            let changes = try rows.order.compactMap { try change(of: $0, in: books[place], rows) }
            return try indexingMembers(changes, in: place, rows)
        }
    }
}

// MARK: - Row by row

extension SetEvaluation {
    private mutating func evaluateRows() throws {
        steps.reserveCapacity(operations.count)
        for operation in operations {
            try context.meter?.step()
            try matchTexts(of: operation)
            steps.append(try step(operation))
        }
        for unit in units.all.indices {
            let culprits = units.all[unit].operations.filter { steps[$0].isRefusal }
            if !culprits.isEmpty { fail(unit, [:]) }
        }
        for (unit, absent) in units.unread { fail(unit, [:], by: absent) }
    }

    private mutating func matchTexts(of operation: RowOperation) throws {
        guard let values = operation.values, let type = context.schema.types[operation.key.type] else { return }
        for (column, value) in values { try context.texts.match(value, of: type.columns[column], context.meter) }
    }

    private mutating func noteLives() {
        for operation in operations {
            switch operation.action {
            case .create(let patch), .update(let patch):
                // A row that moves begins a later life than any that its destination knows.
                let life = operation.source == nil ? patch.generation ?? 1 : .max
                guard life > 1 else { continue }
                let known = books[operation.book].lives[operation.key] ?? 0
                books[operation.book].lives[operation.key] = max(life, known)
            case .destroy: continue
            }
        }
    }

    private mutating func step(_ operation: RowOperation) throws -> RowStep {
        guard let type = context.schema.types[operation.key.type] else {
            return .refused(SetError("invalidArguments", "The schema does not have this type."))
        }
        let objection = try operation.objection ?? context.validate(operation) ?? objectionOfSpace(to: operation)
        if let objection { return .refused(objection) }
        if let source = operation.source { return try move(operation, type, from: source) }
        var row = try evaluation(of: operation, type, in: operation.book)
        let action = settled(operation).action
        var step = row.apply(action, validation: context.rowValidation, texts: context.texts, clock: &clock)
        note(&row)
        decide(&row, after: operation, &step)
        books[operation.book].evaluations[operation.key] = row
        return step
    }

    /// The row of an operation in one account, after the operations before.
    func evaluation(of operation: RowOperation, _ type: TypeSchema, in place: Int) throws -> RowEvaluation {
        let (book, key) = (books[place], operation.key)
        var row =
            try book.evaluations[key] ?? RowEvaluation(key: key, type: type, stored: book.reader.row(key))
        row.hasOwnClocks = operation.hasOwnClocks
        row.pusher = context.device
        row.read = operation.read
        return row
    }

    /// Drops a unit from the push. Its other rows get an error that names the rows at fault, including `others`, which
    /// have no operation.
    mutating func fail(_ unit: Int, _ errors: [Row: SetError], by others: [RowKey] = []) {
        guard units.fail(unit) else { return }
        let indices = units.all[unit].operations
        for index in indices where !steps[index].isRefusal {
            let error = errors[row(of: index)] ?? sourceRow(of: index).flatMap { errors[$0] }
            if let error { steps[index] = .refused(error) }
        }
        let culprits = indices.filter { steps[$0].isRefusal }.map { operations[$0].key }
        let names = Array(Set((culprits + others).map(\.description)).sorted().prefix(Self.maxCulprits))
        for index in indices where !steps[index].isRefusal {
            steps[index] = .refused(SetError("groupFailed", "Another row of the group failed.", blockedBy: names))
        }
    }

    mutating func refuse(_ unit: Int, _ error: SetError) {
        fail(unit, Dictionary(rows(of: unit).map { ($0, error) }, uniquingKeysWith: { first, _ in first }))
    }

    func row(of index: Int) -> Row { Row(book: operations[index].book, key: operations[index].key) }

    /// The row that an operation moves away. Nil: it moves none.
    func sourceRow(of index: Int) -> Row? {
        operations[index].source.map { Row(book: $0, key: operations[index].key) }
    }

    private func rows(of unit: Int) -> [Row] { units.all[unit].operations.map(row) }
}

// MARK: - Missing rows

extension SetEvaluation {
    /// Fails the units that refer to rows the server has never had, and transitively the units that refer to rows of
    /// those units. If a unit refers to a deleted row, and this push names a later life of that row, the unit refers to
    /// the later life, and fails if that life fails.
    ///
    /// A row that this push creates counts as present, at any position in the push, unless its own unit has failed.
    /// Rows that refer to each other in a cycle are therefore present for each other.
    private mutating func failBlocked() throws {
        var dependents: [Row: Set<Int>] = [:]
        for place in books.indices {
            for (key, evaluation) in books[place].evaluations {
                guard let unit = units.number(of: key) else { continue }
                for target in references(of: evaluation, in: place) where try isToCome(target) {
                    dependents[target, default: []].insert(unit)
                }
            }
        }
        var open = dependents.keys.filter { !isComing($0) }
        while let target = open.popLast() {
            for unit in dependents.removeValue(forKey: target) ?? [] where !units.hasFailed(unit) {
                fail(unit, try blocks(in: unit))
                open += rows(of: unit).filter { dependents[$0] != nil }
            }
        }
    }

    private func isToCome(_ row: Row) throws -> Bool {
        guard let stored = try books[row.book].reader.row(row.key)?.row else { return true }
        return !stored.isAlive && books[row.book].lives[row.key] ?? 0 > stored.generation
    }

    private func isComing(_ row: Row) -> Bool {
        guard let unit = units.number(of: row.key), !units.hasFailed(unit) else { return false }
        return (books[row.book].evaluations[row.key]?.row.generation ?? 0) > 0
    }

    /// The rows that a row refers to. All are in the account of the row.
    private func references(of evaluation: RowEvaluation, in place: Int) -> [Row] {
        guard evaluation.row.isAlive else { return [] }
        return evaluation.taken.compactMap { column in
            guard let target = evaluation.type.columns[column]?.target,
                let id = evaluation.row.cells[column]?.value.string
            else { return nil }
            return Row(book: place, key: RowKey(target, id))
        }
    }

    private func blocks(in unit: Int) throws -> [Row: SetError] {
        var errors: [Row: SetError] = [:]
        for index in units.all[unit].operations {
            let row = row(of: index)
            guard let evaluation = books[row.book].evaluations[row.key] else { continue }
            let absent = try references(of: evaluation, in: row.book).filter { try isToCome($0) && !isComing($0) }
            if absent.isEmpty { continue }
            errors[row] = .blocked(by: absent.map(\.key))
        }
        return errors
    }
}

// MARK: - All together

extension SetEvaluation {
    private mutating func settle() throws -> [WorkingRows] {
        for _ in 0..<Self.maxRounds {
            var settled: [WorkingRows] = []
            var errors: [Int: [Row: SetError]] = [:]
            for place in books.indices {
                let consequences = try consequences(in: place)
                settled.append(consequences.rows)
                for (cause, error) in consequences.faults {
                    let row = Row(book: place, key: cause.key)
                    if errors[cause.unit]?[row] == nil { errors[cause.unit, default: [:]][row] = error }
                }
            }
            if errors.isEmpty {
                for (place, rows) in settled.enumerated() {
                    errors.merge(try faultsOfOwners(in: place, rows)) { $0.merging($1) { first, _ in first } }
                    errors.merge(try faultsOfLimits(in: place, rows)) { $0.merging($1) { first, _ in first } }
                }
            }
            if errors.isEmpty { return settled }
            for (unit, errors) in errors { fail(unit, errors) }
            try failBlocked()
        }
        let later = SetError("rateLimit", "The rows of this push depend on each other too much. Send fewer rows.")
        for unit in units.all.indices where !units.hasFailed(unit) { refuse(unit, later) }
        return books.map { WorkingRows(schema: context.schema, reader: $0.reader) }
    }

    /// The effects, in one account, of the units that have not failed.
    private mutating func consequences(in place: Int) throws -> Consequences {
        let book = books[place]
        var consequences = Consequences(
            WorkingRows(schema: context.schema, reader: book.reader), clock: clock, maxSpread: context.maxSpread,
            rowValidation: context.rowValidation,
            writer: operations.contains { $0.read != nil } ? context.device : nil)
        try apply(place, to: &consequences)
        try mergeOwnMembers(in: place, &consequences)
        try countUse(in: place, &consequences)
        try consequences.settle { book.evaluations[$0]?.entries.contains($1) == true }
        clock = consequences.clock
        return consequences
    }

    private func apply(_ place: Int, to consequences: inout Consequences) throws {
        let arriving = Set(operations.lazy.filter { $0.source != nil && $0.book == place }.map(\.key))
        var causes: [(index: Int, cause: WorkingRow.Cause)] = []
        for (index, operation) in operations.enumerated() where operation.book == place || operation.source == place {
            try context.meter?.step()
            guard let unit = units.number(of: operation.key), !units.hasFailed(unit) else { continue }
            let cause = WorkingRow.Cause(unit: unit, key: operation.key)
            causes.append((index, cause))
            if consequences.rows.rows[operation.key] == nil, let evaluation = books[place].evaluations[operation.key] {
                consequences.add(evaluation, cause: cause, isArriving: arriving.contains(operation.key))
            }
        }
        for (index, cause) in causes {
            if case .follow(let incoming) = steps[index] {
                try consequences.follow(cause.key, incoming, cause: cause)
            }
        }
    }

    /// Postpones units whose answers do not fit into one response with the answers of other units. Answers can be large
    /// because refusals and lost edits include the server's rows.
    ///
    /// The first unit is always answered, and so are accepted units that must not be repeated.
    private mutating func putOffTheLargest() {
        var room = context.maxAnswerBytes
        let later = SetError("rateLimit", "The server's rows are too large for one answer. Send fewer rows.")
        for unit in units.all.indices {
            let indices = units.all[unit].operations
            let weight = indices.reduce(0) { $0 + verdicts[$1].weight }
            if weight <= room || room == context.maxAnswerBytes {
                room = max(room - weight, 0)
                continue
            }
            for index in indices
            where units.hasFailed(unit) || (verdicts[index].weight > 0 && operations[index].isRepeatable) {
                verdicts[index] = .refused(later)
            }
        }
    }

    private func change(of key: RowKey, in book: Book, _ rows: WorkingRows) throws -> RowChange? {
        guard let working = rows.rows[key], let type = context.schema.types[key.type] else { return nil }
        try context.meter?.step()
        let stored = try book.reader.row(key)
        if let stored, stored.row == working.row, stored.memory == working.memory { return nil }
        if stored == nil, working.row.generation == 0 { return nil }
        let isBorn = working.row.isAlive && working.row.generation != stored?.row.generation
        let former = stored.map { type.indexEntries(of: $0.row) } ?? []
        let entries = type.indexEntries(of: working.row)
        var memory = working.memory
        memory.writer = context.writer == .person(book.account) ? nil : context.writer
        return RowChange(
            key: key, row: working.row, memory: memory, bornSeq: isBorn ? nil : stored?.bornSeq,
            droppedEntries: former.subtracting(entries), addedEntries: entries.subtracting(former),
            growth: (working.row.isAlive ? 1 : 0) - (stored?.row.isAlive == true ? 1 : 0))
    }
}

extension RowEvaluation {
    fileprivate var entries: Set<IndexEntry> { type.indexEntries(of: row) }
}

extension Schema {
    fileprivate func references(of operation: RowOperation) -> [RowKey] {
        guard let columns = types[operation.key.type]?.columns else { return [] }
        switch operation.action {
        case .destroy: return []
        case .create(let patch), .update(let patch):
            return patch.values.compactMap { column, value in
                guard let target = columns[column]?.target, let id = value.string else { return nil }
                return RowKey(target, id)
            }
        }
    }
}
