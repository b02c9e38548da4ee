// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension PageContext {
    /// Tables that the remote no longer keeps do not lag.
    ///
    /// - Parameters:
    ///   - stored: The progress of the page's scope.
    ///   - served: The tables that the remote keeps. Nil: all.
    init(
        of page: RemotePage, to tables: [String], _ layouts: [TableLayout], _ stored: ProgressTable,
        served: Set<String>?, in db: Database
    ) throws {
        scope = stored.scope
        hasMore = page.hasMore
        let others = layouts.filter { !tables.contains($0.name) }
        lagging = try stored.lagging(behind: page.cursor, of: others, served: served)
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }

    /// The changes follow the snapshot.
    init(of page: RemoteSnapshot, _ scope: Int64, in db: Database) throws {
        self.scope = scope
        hasMore = true
        head = try Meta.guarantees(in: db).state(of: page.head)?.seq
    }
}
