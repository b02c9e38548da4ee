// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A pull of several tables as one JMAP request, and its answer as a page. Pure.
struct PullCall {
    let tables: [String]
    let request: Request
    private let cursor: String

    init(tables: [String], cursor: String, limit: Int, account: String, origins: [String] = []) {
        self.tables = tables
        self.cursor = cursor
        request = Request(
            methodCalls: tables.enumerated().map { index, table in
                let call = ChangesCall(accountID: account, sinceState: cursor, maxChanges: limit)
                return Invocation("\(table)/changes", call.json, callID: String(index))
            }, origins: origins)
    }

    /// Reads the page. All tables end at one state, or the page is not taken.
    ///
    /// - Throws: ``RemoteFailure``.
    func page(from response: Response) throws -> Page {
        var page = Page(from: cursor, cursor: "", hasMore: false, rows: [])
        for (index, table) in tables.enumerated() {
            guard let invocation = response.methodResponses.first(where: { $0.callID == String(index) }) else {
                throw RemoteFailure.unreachable("an answer without \(table)")
            }
            if invocation.name == "error" { throw AnswerClass.failure(ofMethod: invocation.arguments) }
            guard let changes = InlineChanges(json: invocation.arguments),
                page.cursor.isEmpty || page.cursor == changes.newState
            else { throw RemoteFailure.unreachable("a page that cannot be read") }
            page.cursor = changes.newState
            page.hasMore = page.hasMore || changes.hasMoreChanges
            page.rows.reserveCapacity(page.rows.count + changes.list.count + changes.destroyed.count)
            for (id, patch) in changes.list { page.rows.append(PageRow(table: table, id: id, content: .row(patch))) }
            for (id, tombstone) in changes.destroyed {
                page.rows.append(PageRow(table: table, id: id, content: .deleted(tombstone)))
            }
        }
        return page
    }
}
