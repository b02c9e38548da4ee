// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension PageContext {
    /// Tables that the remote no longer keeps do not lag.
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    init(of page: RemotePage, to tables: [String], _ layouts: [TableLayout], served: Set<String>?, in db: Database)
        throws
    {
        hasMore = page.hasMore
        let others = layouts.filter { !tables.contains($0.name) }
        lagging = try ProgressTable(db).lagging(behind: page.cursor, of: others, served: served)
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }

    /// The changes follow the snapshot.
    init(of page: RemoteSnapshot, in db: Database) throws {
        hasMore = true
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }
}
