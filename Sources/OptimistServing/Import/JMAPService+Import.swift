// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistWire

@_spi(Internals) extension JMAPService {
    /// Merges an operator's rows into accounts, in one transaction, by the same rules as a push with a service key. Each
    /// row is accepted or refused alone.
    ///
    /// All values have the same clock, so importing them again changes nothing, and a later edit of a device wins.
    /// A row that the server knows as deleted stays deleted.
    ///
    /// - Throws: The store's error. Nothing is then stored.
    public func carryOut(_ rows: RowsToImport) async throws -> ImportOutcome {
        let accounts = Set(rows.rows.keys)
        if rows.isDryRun {
            return try await store.read(accounts: accounts, as: ImportMerge.reader) { opened in
                try self.merge(rows, into: opened.open.mapValues { Book($0) }, storing: false)
            }
        }
        return try await store.write(accounts: accounts, as: ImportMerge.reader) { opened in
            try self.merge(rows, into: opened.open.mapValues { Book(writing: $0) }, storing: true)
        }
    }

    private func merge(
        _ rows: RowsToImport, into books: [String: Book], storing: Bool
    ) throws -> ImportOutcome {
        var clock = clock()
        let merge = ImportMerge(
            type: rows.type, settings: settings,
            clock: WriteClock(
                stamp: Stamp(milliseconds: min(max(rows.milliseconds, 0), clock.milliseconds)),
                device: ImportMerge.device))
        var outcome = ImportOutcome()
        for (account, rows) in rows.rows.sorted(by: { $0.key < $1.key }) {
            guard var book = books[account] else {
                outcome.verdicts[account] = rows.map { _ in .noAccount }
                continue
            }
            let merged = try merge.merge(rows, over: book.snapshot, &clock)
            outcome.verdicts[account] = merged.verdicts
            if !storing || merged.changes.isEmpty { continue }
            try book.append(merged.changes, merged.events, day: clock.day)
            outcome.changes.append(AccountChange(account: account, types: book.changedTypes, state: book.state))
        }
        keep(clock)
        return outcome
    }
}

/// Decides how imported rows change one account. It stores nothing.
private struct ImportMerge {
    /// The device in the clocks of imported values.
    static let device = "import"
    /// The operator has the rights of a program that may write into all accounts, so the rules of spaces apply.
    static let reader = Reader.service(ServiceReader(key: device, mayWrite: true))

    let type: String
    let settings: ServingSettings
    let clock: WriteClock

    struct Merged {
        var verdicts: [ImportVerdict]
        var changes: [RowChange] = []
        var events: [SpaceEvent] = []
    }

    func merge(
        _ rows: [RowsToImport.Row], over snapshot: any AccountSnapshot, _ serverClock: inout ServerClock
    ) throws -> Merged {
        let context = context
        let book = SetEvaluation.Book(snapshot, in: context)
        try book.reader.load(rows.lazy.map { RowKey(type, $0.id) })
        var merged = Merged(verdicts: rows.map { _ in .unchanged })
        var operations: [RowOperation] = []
        var places: [Int] = []
        for (place, row) in rows.enumerated() {
            let known = try book.reader.row(RowKey(type, row.id))
            if let known, !known.row.isAlive {
                merged.verdicts[place] = .gone
            } else if let operation = operation(row, over: known?.row) {
                operations.append(operation)
                places.append(place)
            }
        }
        if operations.isEmpty { return merged }
        let evaluation = try SetEvaluation(operations, in: context, over: [book], clock: serverClock)
        serverClock = evaluation.clock
        merged.changes = evaluation.changes[0]
        merged.events = try evaluation.events(in: 0)
        let changed = Set(merged.changes.map(\.key))
        for (place, (operation, verdict)) in zip(places, zip(operations, evaluation.verdicts)) {
            merged.verdicts[place] = ImportVerdict(verdict, isChange: changed.contains(operation.key))
        }
        return merged
    }

    /// Nil: the server has the same values. Counters of an existing row stay as they are, because devices have added to
    /// them.
    private func operation(_ row: RowsToImport.Row, over known: MergeRow?) -> RowOperation? {
        let key = RowKey(type, row.id)
        guard let known else {
            return RowOperation(
                key: key, action: .create(RowPatch(clocks: ColumnClocks(common: clock), values: row.values)))
        }
        let columns = settings.schema.types[type]?.columns ?? [:]
        let values = row.values.members.filter { column, value in
            columns[column]?.type != .counter && known.cells[column]?.value ?? .null != value
        }
        if values.isEmpty { return nil }
        return RowOperation(
            key: key,
            action: .update(
                RowPatch(
                    generation: known.generation, clocks: ColumnClocks(common: clock), values: JSONObject(values))))
    }

    private var context: SetEvaluation.Context {
        SetEvaluation.Context(
            schema: settings.schema, spaceTypes: settings.spaceTypes, spaceLimits: settings.spaceLimits,
            validate: settings.validate, rowValidation: settings.rowValidation,
            hook: settings.hook.map { HookCalls($0, device: nil) }, maxAnswerBytes: .max)
    }
}

extension ImportVerdict {
    static let noAccount = ImportVerdict.refused(code: "accountNotFound", message: "The account does not exist.")

    fileprivate init(_ verdict: RowVerdict, isChange: Bool) {
        switch verdict {
        case .accepted, .mergedInto: self = isChange ? .written : .unchanged
        case .gone: self = .gone
        case .refused(let error): self = .refused(code: error.code ?? error.type, message: error.description ?? "")
        }
    }
}
