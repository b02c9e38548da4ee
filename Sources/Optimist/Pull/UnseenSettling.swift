// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Settles rows that a snapshot was expected to contain and did not.
///
/// Invariant: it removes a row only if the server had it before the snapshot began and it does not have unsent
/// edits. A row with unsent edits is kept and sent again.
struct UnseenSettling {
    private let layouts: [TableLayout]
    private let stored: ProgressTable
    private let db: Database
    private let start: Int64
    private let isResync: Bool
    private let served: Set<String>?
    private let milliseconds: Int64

    /// - Parameters:
    ///   - stored: The progress of the scope whose snapshot lacks the rows.
    ///   - start: The server's transaction when the snapshot began. Rows that this device has sent since are not in the
    ///   snapshot, but in the changes after it.
    ///   - isResync: Whether the server may have forgotten deletions. If not, its answer ends the unsent edits of a
    ///     deleted row (M2).
    ///   - served: The tables that the remote keeps. Nil: all.
    init(
        _ layouts: [TableLayout], _ stored: ProgressTable, _ db: Database, start: Int64, isResync: Bool,
        served: Set<String>? = nil,
        at milliseconds: Int64
    ) {
        self.layouts = layouts
        self.stored = stored
        self.db = db
        self.start = start
        self.isResync = isResync
        self.served = served
        self.milliseconds = milliseconds
    }

    func settle(_ ids: [DatabaseValue], of layout: TableLayout, _ answer: MassRemoval.Decision) throws {
        var entries = try RowEntryTable(db)
        let (table, parked) = (AppTable(layout: layout, db: db), ParkedRows(db))
        var going: [ReceivedRow] = []
        for id in ids {
            let ref = RowRef(table: layout.number, id: id)
            // An answer received after the snapshot began may have reported the row's end. No page repeats that report.
            if try parked.hasLater(than: start, of: ref, in: stored.scope) {
                if answer == .remove { continue }
            } else {
                try parked.remove(ref, in: stored.scope)
            }
            guard var entry = try entries.entry(ref), entry.isAlive, entry.isKnownToServer, !entry.isRestored,
                entry.remote.scope == stored.scope, entry.remote.seq <= start
            else { continue }
            if answer == .keep, try table.contains(id) {
                entry.beginAnew(in: layout)
                try entries.save(entry)
            } else if entry.isPending {
                entry.goOnMissing(isResync: isResync, in: layout)
                try entries.save(entry)
            } else {
                // A first sync expects only rows that this device has just sent. Other devices may not have read them.
                var tombstone = Tombstone(generation: entry.generation + 1, clock: nil)
                if !isResync { tombstone.unread = entry.remote.written(in: layout) }
                going.append(ReceivedRow(ref: ref, scope: stored.scope, content: .deleted(tombstone)))
            }
        }
        try PageApplication(layouts, db, at: milliseconds, context(of: layout)).apply(going)
    }

    private func context(of layout: TableLayout) throws -> PageContext {
        // After deletions from answers, only the next page reports the rows below.
        var context = PageContext(scope: stored.scope, hasMore: try ParkedRows(db).holdsDeletionsBack)
        if let cursor = try stored.fetch(layout.name)?.cursor {
            context.lagging = try stored.lagging(behind: cursor, of: layouts, served: served)
        }
        return context
    }

    /// Keeps rows that were edited while their removal waited. They are sent in full, as if they had been edited
    /// earlier (L4). Call this before rows are removed or sent.
    static func keepEdited(_ layouts: [TableLayout], _ db: Database) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        let missing = try parked.editedWithoutVersion().filter(\.isMissing)
        if missing.isEmpty { return }
        var entries = try RowEntryTable(db)
        for row in missing {
            guard let layout = layouts.first(where: { $0.number == row.ref.table }),
                var entry = try entries.entry(row.ref), entry.remote.scope == row.scope, entry.isAlive,
                entry.generation < row.content.version.life
            else { continue }
            try parked.remove(row.ref, in: row.scope)
            guard entry.isKnownToServer, !entry.isRestored else { continue }
            let isResync = try ProgressTable(db, of: entry.remote.scope).fetch(layout.name)?.isResync ?? true
            entry.goOnMissing(isResync: isResync, in: layout)
            try entries.save(entry)
        }
    }
}
