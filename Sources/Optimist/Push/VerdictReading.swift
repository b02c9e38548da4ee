// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Replaces a verdict if this device knows more about the row than the server: the row can never be sent, it need not be
/// sent, or it must wait for another unsent row.
struct VerdictReading {
    private let door: Door
    private let parked: ParkedRows
    private var homes: RowHomes
    /// The server's time, in milliseconds since 1970.
    private let now: Int64

    init(_ door: Door, _ homes: RowHomes, at corrected: Int64) {
        self.door = door
        self.homes = homes
        parked = ParkedRows(door.db)
        now = corrected
    }

    mutating func read(_ verdict: RemotePush.Verdict, of sent: SentRow) throws -> RemotePush.Verdict {
        switch verdict.tellingUnread(of: door.ownDevices) {
        case .rejected(let refusal) where refusal.code == "invitationInvalid" && (sent.restores || isEarly(sent)):
            return .retry(after: nil, DeferralReason("invitationInvalid"))
        case .retry(_, let reason?) where try reason.isOutside && isDeparture(sent): return .accepted(seq: 0)
        case .leaves(let rows): return try read(leaving: rows, by: sent)
        case .blocked(let owner): return try read(blockedBy: owner, sent)
        case let verdict: return verdict
        }
    }

    /// Whether an invitation may still reach the server from the device that made it. A link is usable offline.
    private func isEarly(_ sent: SentRow) -> Bool {
        now - sent.lifeStamp.milliseconds < PushResults.heldMilliseconds
    }

    /// Whether the row takes the person out of a space, so that nothing is left to do if the server does not know the
    /// person there.
    private func isDeparture(_ sent: SentRow) throws -> Bool {
        guard sent.kind == .delete, let table = door.tables[sent.ref.table] else { return false }
        return try Scope.fetch(sent.scope, in: door.db).isOwnMember(sent.ref, in: table.layout)
    }

    // MARK: - Missing rows

    /// In the first two cases, the server would block the row forever.
    private mutating func read(blockedBy name: String, _ sent: SentRow) throws -> RemotePush.Verdict {
        guard let owner = door.tables.ref(named: name) else { return .blocked(by: name) }
        if try parked.awaitsDeletion(owner) {
            return .rejected(
                RemotePush.Refusal(code: "invalidProperties", message: "The row refers to a deleted row."))
        }
        if try isApart(sent.ref, owner) {
            return .rejected(
                RemotePush.Refusal(
                    code: "crossesSpaces", message: "The row refers to a row that is in another space now."))
        }
        // The owner may be a row that another move takes along.
        let moved = try homes.movedRow(above: owner)
        return .blocked(by: moved.flatMap { $0 == sent.ref ? nil : door.tables.name(of: $0) } ?? name)
    }

    /// Whether the server has the owner in another space than the row. Another person may have moved one of them.
    private mutating func isApart(_ ref: RowRef, _ owner: RowRef) throws -> Bool {
        guard try door.entries.entry(owner)?.remote.isAlive == true, case .scope(let there) = try homes.home(of: owner),
            case .scope(let here) = try homes.home(of: ref)
        else { return false }
        return here.number != there.number
    }

    // MARK: - Rows left behind

    /// The device cannot send along rows that it cannot show: rows of tables that only newer apps have, and parked
    /// rows. The server would put off the move forever. The move waits for rows that this device sends later, for
    /// example for their deletion.
    private func read(leaving rows: [String], by sent: SentRow) throws -> RemotePush.Verdict {
        let source = sent.source ?? sent.scope
        if try rows.contains(where: { try isHidden($0, in: source) || isStuck($0, in: source, below: sent) }) {
            return .rejected(
                RemotePush.Refusal(
                    code: "leavesRows",
                    message: """
                        This device cannot show some of the rows below this one, so they would stay in the former space. \
                        A newer version of the app may be able to move them.
                        """))
        }
        return try rows.first(where: isUnsent).map { .blocked(by: $0) } ?? .retry(after: nil, DeferralReason("behind"))
    }

    private func isHidden(_ name: String, in scope: Int64) throws -> Bool {
        guard let ref = door.tables.ref(named: name), let table = door.tables[ref.table] else { return true }
        // A version that waits for the row's unsent deletion is not hidden.
        if let entry = try entry(named: name), entry.isPending, !entry.isAlive { return false }
        return try !table.contains(ref.id) && parked.content(ref, in: scope) != nil
    }

    /// Whether a restored server has an earlier stay of a row that this device keeps elsewhere. Several pages have not
    /// brought it back.
    private func isStuck(_ name: String, in source: Int64, below sent: SentRow) throws -> Bool {
        guard let entry = try entry(named: name), entry.remote.scope != source,
            try Scope.fetch(source, in: door.db).mayHaveBeenRestored
        else { return false }
        return try door.entries.entry(sent.ref)?.local?.retries ?? 0 >= Self.patience
    }

    /// The number of attempts before a move is given up that may yet succeed.
    private static let patience = 3

    private func isUnsent(_ name: String) throws -> Bool { try entry(named: name)?.isPending ?? false }

    private func entry(named name: String) throws -> RowEntry? {
        try door.tables.ref(named: name).flatMap(door.entries.entry)
    }
}
