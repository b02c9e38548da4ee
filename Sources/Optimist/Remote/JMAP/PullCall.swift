// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// Pulls from one or more accounts as one JMAP request, and their pages. Pure.
package struct PullCall {
    private let pulls: [RemotePage.Request]
    package let request: Request

    /// - Parameters:
    ///   - pulls: All with the same origins.
    ///   - account: The person's own account.
    package init(_ pulls: [RemotePage.Request], account: String, schemaVersion: Int? = nil) {
        self.pulls = pulls
        let calls = pulls.flatMap { pull in
            let account = SpaceAccount.id(of: pull.space, own: account)
            let call = ChangesCall(accountID: account, sinceState: pull.cursor, maxChanges: pull.limit)
            return pull.tables.map { ("\($0)/changes", call.json) }
        }
        request = Request(
            methodCalls: calls.enumerated().map { Invocation($1.0, $1.1, callID: String($0)) },
            schemaVersion: schemaVersion, origins: pulls.first?.origins ?? [])
    }

    /// Parses the pages, in the order of the pulls.
    package func pages(from response: Response) -> [Result<RemotePage, RemoteFailure>] {
        var firstCall = 0
        return pulls.map { pull in
            defer { firstCall += pull.tables.count }
            return Result { () throws(RemoteFailure) in try page(of: pull, from: response, firstCall) }
        }
    }

    /// All tables must end at the same state.
    private func page(
        of pull: RemotePage.Request, from response: Response, _ firstCall: Int
    ) throws(RemoteFailure) -> RemotePage {
        var page = RemotePage(from: pull.cursor, cursor: "", hasMore: false, rows: [])
        page.serverTime = response.date
        for (index, table) in pull.tables.enumerated() {
            let answer = try response.answer(String(firstCall + index), of: table)
            if answer.isTooOld {
                page.withheld[table] = .upgradeRequired
                continue
            }
            let arguments = try answer.arguments(inSpace: pull.space != nil)
            guard let changes = InlineChanges(json: arguments), !changes.newState.isEmpty,
                page.cursor.isEmpty || page.cursor == changes.newState
            else { throw RemoteFailure.unreachable("unreadable page") }
            page.cursor = changes.newState
            page.hasMore = page.hasMore || changes.hasMoreChanges
            page.head = page.head ?? changes.head
            page.epochs = [RemoteEpoch](json: arguments["epochs"])
            page.member = arguments["member"]?.string
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
