// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// How far the server's word reaches with some rows: what is still to come after them, and as of when they were read.
struct Horizon: Sendable {
    /// Whether later pages bring what the server has changed by now too.
    var hasMore = false
    /// The tables that later pages change, by their numbers, if not all do.
    var lagging: Set<Int64> = []
    /// The server's last transaction when the rows were read. Nil: unknown.
    var head: Int64?
}

extension Horizon {
    /// The horizon of a page of some tables. A table that the remote no longer keeps has nothing still to come.
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    init(of page: Page, to tables: [String], _ layouts: [TableLayout], served: Set<String>?, in db: Database) throws {
        hasMore = page.hasMore
        let others = layouts.filter { !tables.contains($0.name) }
        lagging = try Intake.lagging(behind: page.cursor, of: others, served: served, in: db)
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }

    /// The horizon of a part of a snapshot, after which the changes come.
    init(of page: SnapshotPage, in db: Database) throws {
        hasMore = true
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }
}
