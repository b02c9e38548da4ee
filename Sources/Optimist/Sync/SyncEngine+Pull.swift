// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import OptimistWire

extension SyncEngine {
    /// What one run remembers of its pulls.
    struct Pulls {
        /// Whether the remote gives snapshots: so it is taken until it says otherwise.
        var hasSnapshots = true
        var followsSnapshot = false
        /// Tables that the remote serves to a newer version of the app only, each until it is asked for again.
        var paused: [String: Duration] = [:]

        /// The part of a snapshot that is on its way while the one before is applied.
        var ahead: SnapshotAhead?
        /// Whether this run has forgotten old deleted rows.
        var hasForgottenDeleted = false
        /// The app is being asked about a removal.
        var asking: Task<Void, Never>?
        /// The tables that are still to be asked for before everything has had its turn, and when each was asked for last. Only
        /// where cursors are opaque.
        var due: Set<String> = []
        var asked: [String: Int] = [:]
        private var turn = 0

        /// - Parameter tables: Those that can be received.
        mutating func beginRound(of tables: some Sequence<String>) {
            due.formIntersection(tables)
            if due.isEmpty { due = Set(tables) }
        }

        mutating func took(_ tables: [String], hasMore: Bool) {
            turn += 1
            for table in tables { asked[table] = turn }
            if !hasMore { due.subtract(tables) }
        }
    }

    /// Takes the next step of receiving.
    func pull() async -> SyncMachine.PullOutcome {
        do {
            let account = try await connected()
            let withheld = Set(store.withheld(pausedTables).map(\.name))
            let intakes = try await store.intakes().filter {
                (account.tables?.contains($0.table) ?? true) && !withheld.contains($0.table)
            }
            pulls.beginRound(of: remote.guarantees.hasOrderedCursors ? [] : intakes.map(\.table))
            let plan = PullPlan(
                intakes: intakes, limit: RowSync.Limit.pageRows, hasSnapshots: pulls.hasSnapshots,
                followsSnapshot: pulls.followsSnapshot, isAsking: pulls.asking != nil, due: pulls.due,
                asked: pulls.asked)
            return .page(hasMore: try await take(plan.step, of: plan, account))
        } catch {
            return .failed(SyncMachine.Failure(error))
        }
    }

    /// Returns whether there is more to do.
    private func take(_ step: PullStep, of plan: PullPlan, _ account: RemoteAccount) async throws -> Bool {
        pulls.followsSnapshot = false
        switch step {
        case .nothing: return false
        case .removal: return try await settleRemoval()
        case .snapshot(let request): return try await takeSnapshot(request, of: plan)
        case .changes(let tables, let cursor):
            return try await takeChanges(tables, cursor, of: plan, account)
        }
    }

    /// - Parameter known: Nil: none yet.
    private func takeChanges(_ tables: [String], _ known: String?, of plan: PullPlan, _ account: RemoteAccount)
        async throws -> Bool
    {
        let cursor = known ?? account.initialCursor
        do {
            let origins = try await store.origins()
            let roundTrip = RoundTrip(surroundings)
            if known == nil, !remote.guarantees.hasOrderedCursors, remote.guarantees.pagesHaveOwnChanges {
                try await store.expectRows(of: tables)
            }
            let page = try await remote.pull(
                PullRequest(tables: tables, cursor: cursor, limit: plan.limit, origins: origins))
            try await store.correctClock(by: page.serverTime, roundTrip: roundTrip())
            try await forgetDeletedRows(rememberedFor: account.tombstoneDays, at: page.serverTime, knowing: known)
            pause(page.upgradeRequired)
            if known == nil, try await hasAskedAboutFormerLife(page.cursor, tables) { return true }
            let told = tables.filter { !page.upgradeRequired.contains($0) }
            guard
                try await store.apply(
                    page, to: told, initialCursor: account.initialCursor, origins: origins, served: account.tables)
            else { return true }
            if !page.epochs.isEmpty { store.writes.send() }
            pulls.took(tables, hasMore: page.hasMore)
            return page.hasMore || !pulls.due.isEmpty || plan.wantsMore(after: tables, moved: page.cursor != cursor)
        } catch RemoteFailure.upgradeRequired(let tables) {
            pause(tables)
            return true
        } catch RemoteFailure.cursorLost {
            try await startResync(of: tables)
            throw RemoteFailure.cursorLost
        } catch RemoteFailure.forked(let epochs) {
            try await rewind(tables, at: cursor, to: epochs)
            throw RemoteFailure.forked(epochs)
        }
    }

    /// Once in a run, and by the server's time: this device's own may have been set to any year.
    private func forgetDeletedRows(rememberedFor days: Int?, at serverTime: Date?, knowing cursor: String?)
        async throws
    {
        guard !pulls.hasForgottenDeleted, let days, let serverTime, let state = remote.guarantees.state(of: cursor)
        else { return }
        pulls.hasForgottenDeleted = true
        try await store.forgetDeletedRows(rememberedFor: days, at: serverTime, knowing: state.seq)
    }

    private func rewind(_ tables: [String], at cursor: String?, to epochs: [RemoteEpoch]) async throws {
        logger.info("sync.rewind", metadata: ["tables": "\(tables.count)"])
        account = nil
        try await store.rewind(tables, at: cursor, to: epochs)
    }

    /// Asks what has become of the life of the remote's database in which it confirmed something of this device, if a first
    /// answer comes from another life (L3). That answer is void then.
    private func hasAskedAboutFormerLife(_ state: String, _ tables: [String]) async throws -> Bool {
        guard let former = try await store.cursorOfFormerLife(than: state) else { return false }
        do {
            let page = try await remote.pull(PullRequest(tables: tables, cursor: former, limit: 1))
            try await rewind([], at: former, to: page.epochs)
        } catch RemoteFailure.forked(let epochs) { try await rewind([], at: former, to: epochs) }
        return true
    }

    private func takeSnapshot(_ request: SnapshotRequest, of plan: PullPlan) async throws -> Bool {
        do {
            var request = request
            request.origins = try await store.origins()
            if request.after == nil, !remote.guarantees.hasOrderedCursors {
                try await store.expectRows(of: [request.table])
            }
            let page = try await snapshot(request)
            if request.at == nil, try await hasAskedAboutFormerLife(page.at, [request.table]) { return true }
            if let next = page.next {
                var following = request
                (following.at, following.after) = (request.at ?? page.at, next)
                pulls.ahead = SnapshotAhead(following, of: remote, surroundings)
            }
            // A part that comes late changes nothing, and is asked for again.
            _ = try await store.apply(page, of: request)
            pulls.followsSnapshot = true
            return true
        } catch RemoteFailure.noSnapshots {
            pulls.hasSnapshots = false
            try await store.expectNothing(of: request.table)
            return true
        } catch RemoteFailure.upgradeRequired(let tables) {
            pause(tables)
            return true
        } catch RemoteFailure.cursorLost {
            // Whatever was noted with it is lost too.
            try await startResync(of: plan.intakes.filter { !$0.isComplete && $0.latest == request.at }.map(\.table))
            throw RemoteFailure.cursorLost
        } catch RemoteFailure.forked(let epochs) {
            try await rewind([request.table], at: request.at, to: epochs)
            throw RemoteFailure.forked(epochs)
        }
    }

    private func snapshot(_ request: SnapshotRequest) async throws -> SnapshotPage {
        let ahead = pulls.ahead
        pulls.ahead = nil
        if let ahead, ahead.request == request { return try await ahead.page }
        ahead?.cancel()
        let roundTrip = RoundTrip(surroundings)
        let page = try await remote.snapshot(request)
        try await store.correctClock(by: page.serverTime, roundTrip: roundTrip())
        return page
    }

    private func startResync(of tables: [String]) async throws {
        logger.info("sync.resync", metadata: ["tables": "\(tables.count)"])
        account = nil
        try await store.startResync(of: tables)
    }

    // MARK: - Tables that need a newer version of the app

    /// How long a table is left alone that the remote serves to a newer version of the app only.
    private static let pause = Duration.seconds(3600)

    /// The tables that are left alone for now. The others go on.
    var pausedTables: Set<String> {
        let now = elapsed()
        return Set(pulls.paused.filter { $0.value > now }.keys)
    }

    /// Leaves tables alone for a while, or until the next run.
    func pause(_ tables: Set<String>) {
        if tables.isEmpty, pulls.paused.isEmpty { return }
        for table in tables { pulls.paused[table] = elapsed() + Self.pause }
        status.show(upgradeRequired: pausedTables)
    }

    // MARK: - What the server has no longer

    /// The tables that the remote keeps, as it said last. Nil: all, or it is not known now.
    private var servedTables: Set<String>? { account?.tables }

    private func settleRemoval() async throws -> Bool {
        let removal = try await store.massRemoval()
        if removal.isMass {
            ask(removal)
        } else {
            try await store.settleUnseen(.remove, served: servedTables)
        }
        return true
    }

    /// Asks the app, which may take its time: pulls go on meanwhile. If more is to go by the time it answers, it is asked about
    /// that. Without an answer it is asked again in the next run.
    private func ask(_ removal: MassRemoval) {
        let (store, logger, onMassRemoval) = (store, logger, onMassRemoval)
        pulls.asking = surroundings.spawn {
            do {
                var (asked, present) = (removal, removal)
                var answer: MassRemoval.Answer
                repeat {
                    asked = present
                    answer = await onMassRemoval(asked)
                    try Task.checkCancellation()
                    present = try await store.massRemoval()
                } while !asked.covers(present)
                try await store.settleUnseen(answer, served: await self.servedTables)
                // Deletions may wait for the next page since.
                self.poke()
            } catch { logger.error("sync.removal.failed", metadata: ["error": "\(error)"]) }
            await self.asked()
        }
    }

    private func asked() { pulls.asking = nil }
}
