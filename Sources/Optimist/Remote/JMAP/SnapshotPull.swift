// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// A request for a part of a snapshot as one JMAP request, and its answer. Pure.
package struct SnapshotPull {
    let table: String
    package let request: Request

    package init(_ asked: RemoteSnapshot.Request, account: String, schemaVersion: Int? = nil) {
        table = asked.table
        let call = SnapshotCall(accountID: account, at: asked.at, after: asked.after, maxChanges: asked.limit)
        request = Request(
            methodCalls: [Invocation("\(asked.table)/changes", call.json, callID: "0")],
            schemaVersion: schemaVersion, origins: asked.origins)
    }

    /// - Throws: ``RemoteFailure``, `noSnapshots` if the server does not support snapshots.
    package func page(from response: Response) throws -> RemoteSnapshot {
        let answer = try response.answer("0", of: table)
        if answer.isTooOld { throw RemoteFailure.withheld([table: .upgradeRequired]) }
        if answer.error == "invalidArguments" { throw RemoteFailure.noSnapshots }
        let arguments = try answer.arguments()
        guard arguments["at"] != nil else { throw RemoteFailure.noSnapshots }
        guard let snapshot = SnapshotAnswer(json: arguments) else {
            throw RemoteFailure.unreachable("unreadable snapshot")
        }
        var page = RemoteSnapshot(
            at: snapshot.at,
            rows: snapshot.list.map { RemotePage.Row(table: table, id: $0.id, content: .row($0.patch)) },
            next: snapshot.next)
        page.total = snapshot.total
        page.head = snapshot.head
        page.epochs = [RemoteEpoch](json: arguments["epochs"])
        page.serverTime = response.date
        return page
    }
}
