// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// A pull of several tables as one JMAP request and page. Pure.
package struct PullCall {
    let tables: [String]
    package let request: Request
    private let cursor: String

    package init(
        tables: [String], cursor: String, limit: Int, account: String, origins: [String] = [],
        schemaVersion: Int? = nil
    ) {
        self.tables = tables
        self.cursor = cursor
        request = Request(
            methodCalls: tables.enumerated().map { index, table in
                let call = ChangesCall(accountID: account, sinceState: cursor, maxChanges: limit)
                return Invocation("\(table)/changes", call.json, callID: String(index))
            }, schemaVersion: schemaVersion, origins: origins)
    }

    /// Parses the page. All tables must end at the same state.
    ///
    /// - Throws: ``RemoteFailure``.
    package func page(from response: Response) throws -> RemotePage {
        var page = RemotePage(from: cursor, cursor: "", hasMore: false, rows: [])
        page.serverTime = response.date
        for (index, table) in tables.enumerated() {
            let answer = try response.answer(String(index), of: table)
            if answer.isTooOld {
                page.withheld[table] = .upgradeRequired
                continue
            }
            let arguments = try answer.arguments()
            guard let changes = InlineChanges(json: arguments), !changes.newState.isEmpty,
                page.cursor.isEmpty || page.cursor == changes.newState
            else { throw RemoteFailure.unreachable("unreadable page") }
            page.cursor = changes.newState
            page.hasMore = page.hasMore || changes.hasMoreChanges
            page.head = page.head ?? changes.head
            page.epochs = [RemoteEpoch](json: arguments["epochs"])
            page.rows.reserveCapacity(page.rows.count + changes.list.count + changes.destroyed.count)
            for (id, patch) in changes.list {
                page.rows.append(RemotePage.Row(table: table, id: id, content: .row(patch)))
            }
            for (id, tombstone) in changes.destroyed {
                page.rows.append(RemotePage.Row(table: table, id: id, content: .deleted(tombstone)))
            }
        }
        if !page.hasMore { page.head = page.cursor }
        if page.cursor.isEmpty { throw RemoteFailure.withheld(page.withheld) }
        return page
    }
}
