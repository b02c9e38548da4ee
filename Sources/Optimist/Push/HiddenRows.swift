// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Ends moves that would leave rows behind that this device cannot show: rows of tables that only newer apps have, and
/// parked rows. The device cannot send them along, so the server would put off the move forever.
struct HiddenRows {
    let batch: PushBatch
    let tables: AppTables

    /// The verdicts, with a refusal or a wait in place of each ``RemotePush/Verdict/leaves(_:)``.
    func settled(_ verdicts: [RemotePush.Verdict]) throws -> [RemotePush.Verdict] {
        var settled = verdicts
        for (index, verdict) in verdicts.enumerated() {
            guard case .leaves(let rows) = verdict, try rows.contains(where: { try isHidden($0, at: index) }) else {
                continue
            }
            let moved = try movedRow(above: index)
            settled[index] = .groupFailed(by: [batch.push.rows[moved].name], current: nil)
            settled[moved] = .rejected(Self.refusal)
        }
        return settled.map { verdict in
            if case .leaves = verdict { .retry(after: nil, DeferralReason("behind")) } else { verdict }
        }
    }

    private static let refusal = RemotePush.Refusal(
        code: "leavesRows",
        message: """
            This device cannot show some of the rows below this one, so they would stay in the former space. \
            A newer version of the app may be able to move them.
            """)

    private func isHidden(_ name: String, at index: Int) throws -> Bool {
        guard let ref = tables.ref(named: name), let table = tables[ref.table] else { return true }
        if try table.contains(ref.id) { return false }
        let sent = batch.sent[index]
        return try ParkedRows(table.db).content(ref, in: sent.source ?? sent.scope) != nil
    }

    /// The row that the user moved, which takes along the row at this place.
    private func movedRow(above index: Int) throws -> Int {
        let group = batch.push.groups.first { $0.contains(index) } ?? index..<index + 1
        var place = index
        while !isMovedByUser(place), let parent = try parent(of: place),
            let above = group.first(where: { batch.sent[$0].ref == parent })
        {
            place = above
        }
        return place
    }

    private func isMovedByUser(_ index: Int) -> Bool {
        let sent = batch.sent[index]
        return sent.kind == .move && sent.mask & (tables[sent.ref.table]?.layout.anchor?.mask ?? 0) != 0
    }

    private func parent(of index: Int) throws -> RowRef? {
        let ref = batch.sent[index].ref
        guard let table = tables[ref.table], let values = try table.values(ref.id) else { return nil }
        return tables.parent(by: values, in: table.layout)
    }
}
