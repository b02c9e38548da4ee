// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// A push as one JMAP request, and its answer. Pure.
package struct PushCall {
    private let push: RemotePush
    /// The tables in the order of their first rows, each with one `/set` call.
    private let tables: [String]
    package let request: Request

    package init(_ push: RemotePush, account: String, schemaVersion: Int) {
        self.push = push
        let empty = SetCall(accountID: account)
        var sets: [String: SetCall] = [:]
        var tables: [String] = []
        for row in push.rows {
            if sets[row.table] == nil { tables.append(row.table) }
            switch row.change {
            case .create(let patch): sets[row.table, default: empty].create.append((row.id, patch))
            case .update(let patch): sets[row.table, default: empty].update.append((row.id, patch))
            case .delete(let tombstone): sets[row.table, default: empty].destroy.append((row.id, tombstone))
            }
        }
        self.tables = tables
        request = Request(
            methodCalls: tables.enumerated().map { index, table in
                Invocation("\(table)/set", sets[table]?.json ?? [:], callID: String(index))
            },
            device: push.device, push: push.number, schemaVersion: schemaVersion,
            groups: push.groups.map { $0.map { push.rows[$0].name } }, origins: push.origins,
            oldestPendingSeconds: push.oldestPendingSeconds)
    }

    /// Parses the verdicts, one per row in the order of the push. A row that is missing from the answer is retried.
    ///
    /// - Throws: ``RemoteFailure`` if the answer concerns the entire push.
    package func answer(from response: Response) throws -> RemotePush.Answer {
        var push = RemotePush.Answer(try verdicts(from: response))
        push.serverTime = response.date
        for invocation in response.methodResponses {
            guard let index = Int(invocation.callID), tables.indices.contains(index) else { continue }
            if invocation.name == "error", invocation.arguments["type"] == "schemaTooOld" {
                push.withheld[tables[index]] = .upgradeRequired
            }
            if let state = invocation.arguments["newState"]?.string { push.epoch = SyncState(state)?.epoch }
        }
        return push
    }

    private func verdicts(from response: Response) throws -> [RemotePush.Verdict] {
        var answers: [String: [String: RemotePush.Verdict]] = [:]
        var reasons: [String: DeferralReason] = [:]
        let changes = Dictionary(push.rows.map { ($0.name, $0.change) }, uniquingKeysWith: { $1 })
        for invocation in response.methodResponses {
            guard let index = Int(invocation.callID), tables.indices.contains(index) else { continue }
            let table = tables[index]
            if invocation.name == "error" {
                if case .forbidden(let reason) = AnswerClass.failure(ofMethod: invocation.arguments) {
                    throw RemoteFailure.forbidden(reason)
                }
                reasons[table] = invocation.arguments["type"]?.string.map { DeferralReason($0) }
            } else if let answer = SetAnswer(json: invocation.arguments) {
                answers[table] = Self.verdicts(answer) { changes["\(table):\($0)"] }
            }
        }
        return push.rows.map { answers[$0.table]?[$0.id] ?? .retry(after: nil, reasons[$0.table]) }
    }

    private static func verdict(_ won: RowPatch?, _ seq: Int64) -> RemotePush.Verdict {
        guard let won else { return .accepted(seq: seq) }
        if let winner = won.mergedInto { return .mergedInto(seq: seq, winner: winner) }
        return won.values.isEmpty ? .accepted(seq: seq) : .merged(seq: seq, won)
    }

    private static func verdicts(
        _ answer: SetAnswer, change: (String) -> RemotePush.Row.Change?
    ) -> [String: RemotePush.Verdict] {
        let seq = SyncState(answer.newState)?.seq ?? 0
        var verdicts: [String: RemotePush.Verdict] = [:]
        for (id, won) in answer.created + answer.updated {
            verdicts[id] = verdict(won, seq)
        }
        for id in answer.destroyed { verdicts[id] = .accepted(seq: seq) }
        for (id, error) in answer.notCreated + answer.notUpdated + answer.notDestroyed {
            guard let change = change(id) else { continue }
            verdicts[id] = AnswerClass.verdict(error, on: change, at: seq)
        }
        return verdicts
    }
}
