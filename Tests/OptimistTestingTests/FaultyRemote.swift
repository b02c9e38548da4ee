// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistWire

@testable import OptimistCore

/// A correct remote with one injected fault.
final class FaultyRemote: Remote {
    enum Fault: CaseIterable {
        case lostRow, doubledCounter, reorderedPage, cursorGoesBack, verdictForWrongRow, ownChangesLeftOut
        case refusalWithoutRow, stalePage
    }

    /// The faulty backend's memory, shared by all devices.
    final class Backend: Sendable {
        struct State {
            var lost: String?
            var heard: Set<String> = []
            var doubled: [String: Int64] = [:]
        }
        let state = Mutex(State())
    }

    private let base: any Remote
    private let fault: Fault
    private let backend: Backend
    private let own = Mutex<Set<Int64>>([])
    private let hasJustAnswered = Mutex(false)
    private let pages = Mutex(0)

    init(_ base: any Remote, _ fault: Fault, _ backend: Backend) {
        self.base = base
        self.fault = fault
        self.backend = backend
    }

    var guarantees: RemoteGuarantees { base.guarantees }
    func connect() async throws -> RemoteAccount { try await base.connect() }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { try await base.listen(receive) }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        var answer = try await base.push(push)
        hasJustAnswered.withLock { $0 = true }
        for (row, verdict) in zip(push.rows, answer.verdicts) { note(row, verdict) }
        switch fault {
        case .doubledCounter: double(push)
        case .verdictForWrongRow where answer.verdicts.count > 1:
            answer.verdicts.append(answer.verdicts.removeFirst())
        case .refusalWithoutRow:
            answer.verdicts = answer.verdicts.map { verdict in
                guard case .rejected(var refusal) = verdict else { return verdict }
                refusal.current = nil
                return .rejected(refusal)
            }
        default: break
        }
        return answer
    }

    private func note(_ row: RemotePush.Row, _ verdict: RemotePush.Verdict) {
        guard case .accepted(let seq) = verdict else { return }
        own.withLock { _ = $0.insert(seq) }
        backend.state.withLock { $0.lost = $0.lost ?? row.id }
    }

    /// Counts the totals of a repeated push again.
    private func double(_ push: RemotePush) {
        backend.state.withLock { state in
            let isNew = state.heard.insert("\(push.device) \(push.number)").inserted
            for row in push.rows where !isNew {
                guard case .update(let patch) = row.change, let likes = patch.values["likes"],
                    case .totals(let totals) = CounterPatch(json: likes)
                else { continue }
                state.doubled[row.id, default: 0] += totals.reduce(0) { $0 + $1.total }
            }
        }
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        var page = try await base.pull(request)
        let isFirst = hasJustAnswered.withLock { answered in
            defer { answered = false }
            return answered
        }
        switch fault {
        case .lostRow:
            let lost = backend.state.withLock(\.lost)
            page.rows.removeAll { $0.id == lost }
        case .doubledCounter: page.rows = page.rows.map(doubled)
        case .reorderedPage: page.rows.reverse()
        case .cursorGoesBack:
            let count = pages.withLock { count in
                count += 1
                return count
            }
            if count.isMultiple(of: 3) { page.cursor = page.from }
        case .ownChangesLeftOut:
            let own = own.withLock(\.self)
            page.rows.removeAll { row in row.seq.map(own.contains) ?? false }
        case .stalePage where isFirst:
            page = RemotePage(from: request.cursor, cursor: request.cursor, hasMore: false, rows: [])
        default: break
        }
        return page
    }

    private func doubled(_ row: RemotePage.Row) -> RemotePage.Row {
        guard case .row(var patch) = row.content, let sum = patch.values["likes"]?.int,
            let more = backend.state.withLock({ $0.doubled[row.id] })
        else { return row }
        patch.values["likes"] = .int(sum + more)
        return RemotePage.Row(table: row.table, id: row.id, content: .row(patch))
    }
}

extension RemotePage.Row {
    fileprivate var seq: Int64? {
        switch content {
        case .row(let patch): patch.seq
        case .deleted(let tombstone): tombstone.seq
        }
    }
}
