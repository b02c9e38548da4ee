// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The rows that a move takes along. The user moved only the row above them, so that row waits or is refused for them.
struct Passengers {
    let batch: PushBatch
    let tables: AppTables
    let homes: RowHomes

    /// The verdicts, with those about a move on the row that the user moved.
    func carried(_ verdicts: [RemotePush.Verdict]) throws -> [RemotePush.Verdict] {
        var carried = verdicts
        for (index, verdict) in verdicts.enumerated() where batch.sent[index].kind == .move {
            guard let cause = try cause(of: verdict, at: index), let moved = try movedRow(above: index), moved != index
            else { continue }
            if carried[moved].isGroupFailed { carried[moved] = cause }
            if !verdict.isLifeUnknown {
                carried[index] = .groupFailed(by: [batch.push.rows[moved].name], current: nil)
            }
        }
        return carried
    }

    /// The move's verdict, if this one is about the move. Otherwise nil.
    private func cause(of verdict: RemotePush.Verdict, at index: Int) throws -> RemotePush.Verdict? {
        let isUnedited = batch.sent[index].mask == 0
        switch verdict {
        case .leaves: return verdict
        case .blocked(let owner): return try isUnedited || !isEdited(referenceTo: owner, at: index) ? verdict : nil
        case .retry: return isUnedited ? verdict : nil
        // The server's row and the columns are the passenger's.
        case .rejected(let refusal):
            return isUnedited ? .rejected(RemotePush.Refusal(code: refusal.code, message: refusal.message)) : nil
        case .lifeUnknown: return isUnedited ? .retry(after: nil, DeferralReason("lifeUnknown")) : nil
        case .accepted, .merged, .mergedInto, .gone, .groupFailed: return nil
        }
    }

    private func isEdited(referenceTo owner: String, at index: Int) throws -> Bool {
        let sent = batch.sent[index]
        guard let owner = tables.ref(named: owner), let table = tables[sent.ref.table],
            let values = try table.values(sent.ref.id)
        else { return true }
        return table.layout.columns(in: sent.mask).contains { tables.owner(by: $0, values[$0.name]) == owner }
    }

    private func movedRow(above index: Int) throws -> Int? {
        guard let moved = try homes.movedRow(above: batch.sent[index].ref) else { return nil }
        return batch.push.groups.first { $0.contains(index) }?.first { batch.sent[$0].ref == moved }
    }
}
