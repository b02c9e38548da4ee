// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// An event of a row: a write of the user, a page, an answer to a push, or an action of the engine.
enum RowStep: CaseIterable {
    case insert, title, body, both, count, delete
    case titleAgain, bodyAgain, countAgain, deleteAgain, insertAgain
    case send, lose
    case first, own, misfit, misfitOfNextLife
    case olderPage, samePage, titlePage, bothPage, echoPage, laterEchoPage, unreadPage
    case forgottenPage, nextLifePage, earlyNextLifePage, countedNextLifePage, fifthLifePage
    case end, earlyEnd, untoldEnd, mergedEnd, unreadEnd, reinedEnd
    case missing, missingInResync, keep, discard, discardWithRow
    case accepted, acceptedEarlier, titleWon, titleWonEarlier, bothWon, reined, earlierWon, sumTold, nextLifeWon,
        mergedInto
    case gone, goneUntold, refused, refusedWithRow, refusedWithOlderRow, refusedWithNextLife
    case goneEarlier, sumToldEarlier
    case retry, blocked, groupFailed, lifeUnknown, recalled

    static let pages: [Self] = [
        .olderPage, .samePage, .titlePage, .bothPage, .echoPage, .laterEchoPage, .unreadPage, .forgottenPage,
        .nextLifePage, .earlyNextLifePage, .end, .earlyEnd, .untoldEnd, .mergedEnd, .unreadEnd,
        .reinedEnd,
    ]
    static let answers: [Self] = [
        .accepted, .acceptedEarlier, .titleWon, .titleWonEarlier, .bothWon, .reined, .earlierWon, .sumTold,
        .nextLifeWon, .mergedInto, .gone, .goneUntold, .refused, .refusedWithRow, .refusedWithOlderRow,
        .refusedWithNextLife, .retry, .blocked, .groupFailed, .lifeUnknown, .recalled,
    ]
    static let others: [Self] = [.lose, .missing, .missingInResync, .keep, .discard, .discardWithRow, .misfit]

    /// Whether the event can happen in the row's state.
    func isPossible(for subject: RowSubject) -> Bool {
        switch self {
        case .insert, .insertAgain: return subject.shown == nil && !subject.entry.isAlive
        case .title, .body, .both, .count, .delete, .titleAgain, .bodyAgain, .countAgain, .deleteAgain:
            return subject.shown != nil
        case .send: return subject.entry.isPending && subject.sent == nil
        case .discard, .discardWithRow: return subject.entry.isPending
        case .lose: return subject.entry.isKnownToServer && subject.entry.remote.generation > 0
        case .missing, .missingInResync, .keep:
            return subject.entry.isAlive && subject.entry.isKnownToServer && !subject.entry.isRestored
        case .first, .own: return subject.entry.remote.generation == 0
        case .misfit, .misfitOfNextLife: return subject.shown != nil
        case .unreadPage, .unreadEnd, .mergedEnd, .reinedEnd: return !subject.entry.isPending || subject.sent != nil
        case .goneEarlier, .sumToldEarlier: return isPossibleAnswer(to: subject)
        default:
            if Self.answers.contains(self) { return isPossibleAnswer(to: subject) }
            return true
        }
    }

    private func isPossibleAnswer(to subject: RowSubject) -> Bool {
        guard let sent = subject.sent else { return false }
        switch self {
        // A server with this value, which is later than the deletion, would not have deleted the row.
        case .titleWonEarlier: return sent.kind != .delete && !subject.entry.hasOutlivedItsEnd
        case .titleWon, .bothWon, .reined, .earlierWon, .sumTold, .mergedInto: return sent.kind != .delete
        case .lifeUnknown: return sent.kind == .update
        default: return true
        }
    }

    func happen(to subject: inout RowSubject) {
        switch self {
        case .insert: subject.insert(["title": "M", "body": "M", "likes": 0], at: 20)
        case .title: subject.update(["title": "M"], at: 20)
        case .body: subject.update(["body": "M"], at: 20)
        case .both: subject.update(["title": "M", "body": "M"], at: 20)
        case .count: subject.count(2, at: 20)
        case .delete: subject.delete(at: 20)
        case .titleAgain: subject.update(["title": "N"], at: 25)
        case .bodyAgain: subject.update(["body": "N"], at: 25)
        case .countAgain: subject.count(1, at: 25)
        case .deleteAgain: subject.delete(at: 25)
        case .insertAgain: subject.insert(["title": "N", "body": "N", "likes": 0], at: 25)
        case .send: subject.send()
        case .lose: subject.lose()
        case .missing: subject.miss(isResync: false)
        case .missingInResync: subject.miss(isResync: true)
        case .keep: subject.keep()
        case .recalled: subject.recall()
        case .discard: subject.discard(nil)
        case .discardWithRow: subject.discard(page(subject))
        case .misfit: if let patch = page(subject) { subject.receiveMisfit(patch) }
        case .misfitOfNextLife: subject.receiveMisfit(nextLife(at: 50, in: subject))
        default:
            if let patch = page(subject) { return subject.receive(patch) }
            if let tombstone { return subject.receive(tombstone) }
            if let verdict = verdict(subject) { subject.answer(verdict) }
        }
    }

    // MARK: - Pages and answers

    func page(_ subject: RowSubject) -> RowPatch? {
        switch self {
        case .first, .samePage: return row("A", at: 10, "A", at: 10, likes: 3, seq: 5, in: subject)
        case .own: return row("K", at: 12, "A", at: 10, likes: 5, mine: 2, seq: 5, by: RowSubject.device, in: subject)
        case .olderPage: return row("O", at: 5, "O", at: 5, likes: 1, seq: 4, in: subject)
        case .titlePage, .discardWithRow: return row("B", at: 15, "A", at: 10, likes: 4, seq: 6, in: subject)
        case .bothPage, .misfit: return row("C", at: 40, "C", at: 40, likes: 5, seq: 7, in: subject)
        case .echoPage:
            return row("M", at: 20, "A", at: 10, likes: 5, mine: 2, seq: 8, by: RowSubject.device, in: subject)
        case .laterEchoPage:
            return row("M", at: 30, "A", at: 10, likes: 5, mine: 2, seq: 8, by: RowSubject.device, in: subject)
        case .unreadPage:
            var patch = row("C", at: 40, "C", at: 40, likes: 5, seq: 8, in: subject)
            patch.unread.add(RowSubject.clock(20, RowSubject.device), in: "title")
            return patch
        case .forgottenPage: return row("F", at: 60, "F", at: 60, likes: 1, seq: 9, in: subject)
        case .nextLifePage: return nextLife(at: 50, in: subject)
        case .earlyNextLifePage: return nextLife(at: 15, in: subject)
        case .countedNextLifePage:
            var life = nextLife(at: 15, in: subject)
            life.values["likes"] = 6
            life.mine["likes"] = [RowSubject.device: 2]
            return life
        case .fifthLifePage:
            var life = nextLife(at: 15, in: subject)
            life.generation = 5
            return life
        default: return nil
        }
    }

    var tombstone: Tombstone? {
        switch self {
        case .end: return Tombstone(generation: 2, clock: RowSubject.clock(30), seq: 7)
        case .earlyEnd: return Tombstone(generation: 2, clock: RowSubject.clock(15), seq: 7)
        case .untoldEnd: return Tombstone(generation: 2, clock: nil, seq: 7)
        case .mergedEnd: return Tombstone(generation: 2, clock: RowSubject.clock(30), seq: 7, mergedInto: "other")
        case .reinedEnd: return Tombstone(generation: 2, clock: RowSubject.clock(18, RowSubject.device), seq: 7)
        case .unreadEnd:
            var tombstone = Tombstone(generation: 2, clock: RowSubject.clock(30), seq: 8)
            tombstone.unread.add(RowSubject.clock(20, RowSubject.device), in: "title")
            return tombstone
        default: return nil
        }
    }

    func verdict(_ subject: RowSubject) -> RemotePush.Verdict? {
        let told = row("B", at: 15, "A", at: 10, likes: 4, seq: 9, in: subject)
        switch self {
        case .accepted: return .accepted(seq: 9)
        case .acceptedEarlier: return .accepted(seq: 6)
        case .titleWon: return .merged(seq: 9, answer(["title": "C"], at: 40, "Other", in: subject))
        case .titleWonEarlier: return .merged(seq: 6, answer(["title": "L"], at: 35, "Other", in: subject))
        case .bothWon: return .merged(seq: 9, answer(["title": "C", "body": "C"], at: 40, "Other", in: subject))
        case .reined: return .merged(seq: 9, answer(["title": "M"], at: 28, RowSubject.device, in: subject))
        case .earlierWon: return .merged(seq: 9, answer(["title": "L"], at: 28, RowSubject.device, in: subject))
        case .sumTold, .sumToldEarlier:
            var sum = answer(["likes": 7], at: 28, RowSubject.device, in: subject)
            sum.mine["likes"] = [RowSubject.device: 2]
            return .merged(seq: self == .sumTold ? 9 : 6, sum)
        case .nextLifeWon: return .merged(seq: 9, nextLife(at: 50, in: subject))
        case .mergedInto: return .mergedInto(seq: 9, winner: "other")
        case .gone: return .gone(seq: 9, Tombstone(generation: 2, clock: RowSubject.clock(30)))
        case .goneUntold: return .gone(seq: 9)
        case .goneEarlier: return .gone(seq: 5)
        case .refused: return .rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        case .refusedWithRow: return .rejected(RemotePush.Refusal(code: "forbidden", message: "No.", current: told))
        case .refusedWithOlderRow:
            let older = row("O", at: 5, "O", at: 5, likes: 1, seq: 4, in: subject)
            return .rejected(RemotePush.Refusal(code: "forbidden", message: "No.", current: older))
        case .refusedWithNextLife:
            let life = nextLife(at: 50, in: subject)
            return .rejected(RemotePush.Refusal(code: "forbidden", message: "No.", current: life))
        case .retry: return .retry(after: nil)
        case .blocked: return .blocked(by: "Note:other")
        case .groupFailed: return .groupFailed(by: ["Note:other"], current: nil)
        case .lifeUnknown: return .lifeUnknown
        default: return nil
        }
    }

    private func row(
        _ title: String, at first: Int64, _ body: String, at second: Int64, likes: Int64, mine: Int64? = nil,
        seq: Int64, by device: String = "Other", in subject: RowSubject
    ) -> RowPatch {
        let clocks = ColumnClocks(packing: [
            "title": RowSubject.clock(first, device), "body": RowSubject.clock(second), "likes": RowSubject.clock(5),
        ])
        var patch = RowPatch(
            generation: 1, clocks: subject.hasClocks ? clocks : nil, seq: seq,
            values: ["title": .string(title), "body": .string(body), "likes": .int(likes)])
        if let mine { patch.mine["likes"] = [RowSubject.device: mine] }
        return patch
    }

    private func nextLife(at second: Int64, in subject: RowSubject) -> RowPatch {
        RowPatch(
            generation: 3, clocks: subject.hasClocks ? ColumnClocks(common: RowSubject.clock(second)) : nil, seq: 7,
            values: ["title": "D", "body": "D", "likes": 0])
    }

    private func answer(_ values: JSONObject, at second: Int64, _ device: String, in subject: RowSubject) -> RowPatch {
        RowPatch(
            generation: 1,
            clocks: subject.hasClocks ? ColumnClocks(common: RowSubject.clock(second, device)) : nil, values: values)
    }
}
