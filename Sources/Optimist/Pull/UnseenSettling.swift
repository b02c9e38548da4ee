// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Removes rows that a snapshot did not bring. A row with unsent edits stays, and is sent.
struct UnseenSettling {
    private let layouts: [TableLayout]
    private let db: Database
    private let start: Int64
    private let isResync: Bool
    private let served: Set<String>?
    private let milliseconds: Int64

    /// - Parameters:
    ///   - start: The server's transaction when the snapshot began. A row that is later was sent from this device
    ///     meanwhile, and comes with the changes.
    ///   - isResync: Whether the server may have forgotten that a row was deleted. If not, its answer ends the unsent
    ///     edits of that row (M2).
    ///   - served: The tables that the remote keeps. Nil: all.
    init(
        _ layouts: [TableLayout], _ db: Database, start: Int64, isResync: Bool, served: Set<String>? = nil,
        at milliseconds: Int64
    ) {
        self.layouts = layouts
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
            // An answer may have told the row's end since. No page tells it again.
            if try parked.hasLater(than: start, of: ref) {
                if answer == .remove { continue }
            } else {
                try parked.remove(ref)
            }
            guard var entry = try entries.entry(ref), entry.isAlive, entry.isKnownToServer, !entry.isRestored,
                entry.remote.seq <= start
            else { continue }
            // A row that is not here cannot be kept.
            if answer == .keep, try table.contains(id) {
                entry.beginAnew(in: layout)
                try entries.save(entry)
            } else if entry.isPending {
                entry.goOnMissing(isResync: isResync, in: layout)
                try entries.save(entry)
            } else {
                // A first sync expects only rows that this device has just sent. Another device may not have read them.
                var tombstone = Tombstone(generation: entry.generation + 1, clock: nil)
                if !isResync { tombstone.unread = entry.remote.written(in: layout) }
                going.append(ReceivedRow(ref: ref, content: .deleted(tombstone)))
            }
        }
        try PageApplication(layouts, db, at: milliseconds, context(of: layout)).apply(going)
    }

    private func context(of layout: TableLayout) throws -> PageContext {
        // If answers have told of deletions since the last page, only the next page says what becomes of the rows
        // below.
        var context = PageContext(hasMore: try ParkedRows(db).holdsDeletionsBack)
        if let cursor = try TableProgress.fetchAll([layout.name], in: db).first?.cursor {
            context.lagging = try TableProgress.lagging(behind: cursor, of: layouts, served: served, in: db)
        }
        return context
    }

    /// Keeps the rows that the user has edited while their removal had to wait. They are sent whole, as if the user had
    /// edited them before (L4). Called before rows are removed, and before any rows are sent.
    static func keepEdited(_ layouts: [TableLayout], _ db: Database) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        let missing = try parked.editedWithoutVersion().filter(\.isMissing)
        if missing.isEmpty { return }
        var entries = try RowEntryTable(db)
        for row in missing {
            guard let layout = layouts.first(where: { $0.number == row.ref.table }),
                var entry = try entries.entry(row.ref), entry.isAlive, entry.generation < row.content.version.life
            else { continue }
            try parked.remove(row.ref)
            guard entry.isKnownToServer, !entry.isRestored else { continue }
            let isResync = try TableProgress.fetchAll([layout.name], in: db).first?.isResync ?? true
            entry.goOnMissing(isResync: isResync, in: layout)
            try entries.save(entry)
        }
    }
}
