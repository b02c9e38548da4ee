// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// A push as one JMAP request, and its answer. Pure.
package struct PushCall {
    /// The rows of one method call: a table in one account, or the rows that move there from another account.
    fileprivate struct Place: Hashable {
        var table: String
        var account: String
        var source: String?
    }

    private let push: RemotePush
    private let account: String
    /// The places in the order of their first rows.
    private let places: [Place]
    package let request: Request

    package init(_ push: RemotePush, account: String, schemaVersion: Int) {
        self.push = push
        self.account = account
        var sets: [Place: SetCall] = [:]
        var copies: [Place: CopyCall] = [:]
        var places: [Place] = []
        for row in push.rows {
            let place = Self.place(of: row, own: account)
            if sets[place] == nil, copies[place] == nil {
                places.append(place)
                if let source = place.source {
                    copies[place] = CopyCall(fromAccountID: source, accountID: place.account)
                } else {
                    sets[place] = SetCall(accountID: place.account)
                }
            }
            switch row.change {
            case .create(let patch): sets[place]?.create.append((row.id, patch))
            case .update(let patch): sets[place]?.update.append((row.id, patch))
            case .delete(let tombstone): sets[place]?.destroy.append((row.id, tombstone))
            case .move(_, let patch, let isWhole):
                copies[place]?.create.append((row.id, CopyCall.Row(id: row.id, patch: patch, isWhole: isWhole)))
            }
        }
        self.places = places
        let calls = places.enumerated().map { index, place in
            let arguments = copies[place]?.json ?? sets[place]?.json ?? [:]
            return Invocation("\(place.table)/\(place.method)", arguments, callID: String(index))
        }
        request = Request(
            methodCalls: calls + Self.naming(push.spaces, own: account),
            device: push.device, push: push.number, schemaVersion: schemaVersion,
            groups: push.groups.map { $0.map { push.rows[$0].name } }, origins: push.origins,
            oldestPendingSeconds: push.oldestPendingSeconds)
    }

    /// Calls that change nothing, to name accounts. Their answers are not read.
    private static func naming(_ spaces: [String], own: String) -> [Invocation] {
        if spaces.isEmpty { return [] }
        let accounts = [own] + spaces.map { SpaceAccount.id(of: $0, own: own) }
        return accounts.map { account in
            let type = account == own ? "optimist_space" : "optimist_member"
            return Invocation("\(type)/set", SetCall(accountID: account).json, callID: account)
        }
    }

    private static func place(of row: RemotePush.Row, own: String) -> Place {
        var place = Place(table: row.table, account: SpaceAccount.id(of: row.space, own: own))
        if case .move(let source, _, _) = row.change { place.source = SpaceAccount.id(of: source, own: own) }
        return place
    }

    /// Parses the verdicts, one per row in the order of the push. A row that is missing from the answer is retried.
    ///
    /// - Throws: ``RemoteFailure`` if the answer concerns the entire push.
    package func answer(from response: Response) throws -> RemotePush.Answer {
        var push = RemotePush.Answer(try verdicts(from: response))
        push.serverTime = response.date
        for invocation in response.methodResponses {
            guard let index = Int(invocation.callID), places.indices.contains(index) else { continue }
            if invocation.name == "error", invocation.arguments["type"] == "schemaTooOld" {
                push.withheld[places[index].table] = .upgradeRequired
            }
            if let state = invocation.arguments["newState"]?.string { push.epoch = SyncState(state)?.epoch }
        }
        return push
    }

    private func verdicts(from response: Response) throws -> [RemotePush.Verdict] {
        var answers: [Place: [String: RemotePush.Verdict]] = [:]
        var reasons: [Place: DeferralReason] = [:]
        let changes = Dictionary(push.rows.map { ($0.name, $0.change) }, uniquingKeysWith: { $1 })
        for invocation in response.methodResponses {
            guard let index = Int(invocation.callID), places.indices.contains(index) else { continue }
            let place = places[index]
            if invocation.name == "error" {
                // A space that refuses the person concerns only its own rows.
                if place.account == account, place.source == nil,
                    case .forbidden(let reason) = AnswerClass.failure(ofMethod: invocation.arguments)
                {
                    throw RemoteFailure.forbidden(reason)
                }
                reasons[place] = invocation.arguments["type"]?.string.map { DeferralReason($0) }
            } else if place.source != nil {
                // The server also answers the `/set` that ends the rows in the source.
                guard invocation.name.hasSuffix("/copy") else { continue }
                answers[place] = CopyAnswer(json: invocation.arguments).map(verdicts)
            } else if let answer = SetAnswer(json: invocation.arguments) {
                answers[place] = Self.verdicts(answer) { changes["\(place.table):\($0)"] }
            }
        }
        return push.rows.map { row in
            let place = Self.place(of: row, own: account)
            return answers[place]?[row.id] ?? .retry(after: nil, reasons[place])
        }
    }

    private func verdicts(_ answer: CopyAnswer) -> [String: RemotePush.Verdict] {
        let seq = SyncState(answer.newState)?.seq ?? 0
        var verdicts: [String: RemotePush.Verdict] = [:]
        for (id, row) in answer.created {
            // A merged or ended row is not in the destination, so a transaction there is no later word on it.
            verdicts[id] = row.mergedInto.map { .mergedInto(seq: 0, winner: $0) } ?? .merged(seq: seq, row)
        }
        for (id, error) in answer.notCreated {
            verdicts[id] = AnswerClass.verdict(error, on: .move(from: nil, RowPatch(), isWhole: false), at: 0)
        }
        return verdicts
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

extension PushCall.Place {
    fileprivate var method: String { source == nil ? "set" : "copy" }
}
