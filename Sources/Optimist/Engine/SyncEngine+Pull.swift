// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
@_spi(Internals) import OptimistWire

extension SyncEngine {
    struct Pulls {
        /// Assumed until the remote denies it.
        var hasSnapshots = true
        var followsSnapshot = false
        /// The tables that the remote withholds, and when to ask for them again.
        var paused: [String: (reason: WithheldReason, until: Duration)] = [:]

        var ahead: SnapshotAhead?
        var hasPage = false
        /// The scopes whose deleted rows were considered for forgetting in this run.
        var forgotten: Set<Int64> = []
        /// The questions about mass removals that the app has yet to answer, by scope.
        var asking: [Int64: Task<Void, Never>] = [:]
        /// Nil if the next pull begins with the person's own account.
        var spaces: SpacePlan?
        /// The turn of each space's last request.
        private(set) var askedSpaces: [Int64: Int] = [:]
        /// For opaque cursors only: the tables still due in this round, and the turn of each table's last request.
        var due: Set<String> = []
        var asked: [String: Int] = [:]
        private var turn = 0

        mutating func asked(_ scopes: [Int64]) {
            turn += 1
            for scope in scopes { askedSpaces[scope] = turn }
        }

        /// - Parameter tables: The tables that can be received now.
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

    func pull(_ rowLimit: Int) async -> SyncMachine.PullOutcome {
        do {
            let account = try await connected()
            let outcome: SyncMachine.PullOutcome =
                if pulls.spaces == nil, try await pullOwn(rowLimit, account) {
                    .page(hasMore: true)
                } else {
                    try await pullSpaces(rowLimit, account)
                }
            if !pulls.hasPage { try await store.noteCutPage(nil) }
            pulls.hasPage = true
            return outcome
        } catch {
            pulls.spaces = nil
            await noteIfCut(rowLimit)
            return .failed(SyncMachine.Failure(error))
        }
    }

    /// Takes a step in the person's own account.
    ///
    /// - Returns: Whether there is more to do.
    private func pullOwn(_ rowLimit: Int, _ account: RemoteAccount) async throws -> Bool {
        let withheld = Set(store.withheld(Set(pausedTables.keys)).map(\.name))
        let tableProgress = try await store.tableProgress().filter {
            (account.tables?.contains($0.table) ?? true) && !withheld.contains($0.table)
        }
        pulls.beginRound(of: remote.guarantees.hasOrderedCursors ? [] : tableProgress.map(\.table))
        let plan = PullPlan(
            tableProgress: tableProgress, limit: rowLimit, hasSnapshots: pulls.hasSnapshots,
            followsSnapshot: pulls.followsSnapshot, isAsking: pulls.asking[Scope.personal] != nil,
            due: pulls.due, asked: pulls.asked)
        return try await take(plan.step, of: plan, account)
    }

    /// After a run that ends during a pull, the next run asks for a smaller page.
    private func noteIfCut(_ rowLimit: Int) async {
        guard Task.isCancelled, account != nil else { return }
        do { try await store.noteCutPage(rowLimit) } catch {
            logger.error("sync.pull.failed", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: Whether there is more to do.
    private func take(_ step: PullStep, of plan: PullPlan, _ account: RemoteAccount) async throws -> Bool {
        pulls.followsSnapshot = false
        switch step {
        case .nothing: return false
        case .removal: return try await settleRemoval(in: Scope.personal)
        case .snapshot(let request): return try await takeSnapshot(request, of: plan)
        case .changes(let tables, let cursor):
            return try await takeChanges(tables, cursor, of: plan, account)
        }
    }

    /// - Parameter known: The cursor of these tables, if they have one.
    private func takeChanges(_ tables: [String], _ known: String?, of plan: PullPlan, _ account: RemoteAccount)
        async throws -> Bool
    {
        let cursor = known ?? account.initialCursor
        do {
            let origins = try await store.origins()
            let roundTrip = RoundTrip(dependencies)
            if known == nil, !remote.guarantees.hasOrderedCursors, remote.guarantees.pagesHaveOwnChanges {
                try await store.expectRows(of: tables)
            }
            let page = try await remote.pull(
                RemotePage.Request(tables: tables, cursor: cursor, limit: plan.limit, origins: origins))
            try await store.correctClock(by: page.serverTime, roundTrip: roundTrip())
            try await forgetDeletedRows(
                in: Scope.personal, rememberedFor: account.tombstoneDays, at: page.serverTime, knowing: known)
            pause(page.withheld)
            if known == nil, try await hasAskedAboutFormerLife(page.cursor, tables) { return true }
            let told = tables.filter { page.withheld[$0] == nil }
            guard
                try await store.apply(
                    page, to: told, initialCursor: account.initialCursor, origins: origins, served: account.tables)
            else { return true }
            if !page.epochs.isEmpty { store.writes.send() }
            pulls.took(tables, hasMore: page.hasMore)
            return page.hasMore || !pulls.due.isEmpty || plan.wantsMore(after: tables, moved: page.cursor != cursor)
        } catch RemoteFailure.withheld(let withheld) {
            try pause(withheld, insteadOf: tables)
            return true
        } catch RemoteFailure.cursorLost {
            try await startResync(of: tables)
            throw RemoteFailure.cursorLost
        } catch RemoteFailure.forked(let epochs) {
            try await rewind(tables, at: cursor, to: epochs)
            throw RemoteFailure.forked(epochs)
        }
    }

    /// Runs once per run and scope, by the server's time, because this device's clock may be wrong.
    func forgetDeletedRows(
        in scope: Int64, rememberedFor days: Int?, at serverTime: Date?, knowing cursor: String?
    ) async throws {
        guard !pulls.forgotten.contains(scope), let days, let serverTime,
            let state = remote.guarantees.state(of: cursor)
        else { return }
        pulls.forgotten.insert(scope)
        try await store.forgetDeletedRows(rememberedFor: days, at: serverTime, in: scope, knowing: state.seq)
    }

    private func rewind(
        _ tables: [String], in scope: Int64 = Scope.personal, at cursor: String?, to epochs: [RemoteEpoch]
    ) async throws {
        logger.info("sync.rewind", metadata: ["tables": "\(tables.count)"])
        account = nil
        try await store.rewind(tables, in: scope, at: cursor, to: epochs)
    }

    /// Asks about the last known epoch (L3), if the first answer is from another epoch. The first answer is then void.
    func hasAskedAboutFormerLife(
        _ state: String, _ tables: [String], in scope: Int64 = Scope.personal, _ space: String? = nil
    ) async throws -> Bool {
        guard let former = try await store.cursorOfFormerLife(than: state, in: scope) else { return false }
        do {
            let page = try await remote.pull(RemotePage.Request(tables: tables, cursor: former, limit: 1, space: space))
            try await rewind([], in: scope, at: former, to: page.epochs)
        } catch RemoteFailure.forked(let epochs) { try await rewind([], in: scope, at: former, to: epochs) }
        return true
    }

    private func takeSnapshot(_ request: RemoteSnapshot.Request, of plan: PullPlan) async throws -> Bool {
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
                pulls.ahead = SnapshotAhead(following, of: remote, dependencies)
            }
            // A late part changes nothing, and the engine asks for it again.
            _ = try await store.apply(page, of: request)
            pulls.followsSnapshot = true
            return true
        } catch RemoteFailure.noSnapshots {
            pulls.hasSnapshots = false
            try await store.expectNothing(of: request.table)
            return true
        } catch RemoteFailure.withheld(let withheld) {
            try pause(withheld, insteadOf: [request.table])
            return true
        } catch RemoteFailure.cursorLost {
            // Every table with this cursor has lost it.
            try await startResync(
                of: plan.tableProgress.filter { !$0.isComplete && $0.latest == request.at }.map(\.table))
            throw RemoteFailure.cursorLost
        } catch RemoteFailure.forked(let epochs) {
            try await rewind([request.table], at: request.at, to: epochs)
            throw RemoteFailure.forked(epochs)
        }
    }

    private func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let ahead = pulls.ahead
        pulls.ahead = nil
        if let ahead, ahead.brings(request) { return try await ahead.page }
        ahead?.cancel()
        let roundTrip = RoundTrip(dependencies)
        let page = try await remote.snapshot(request)
        try await store.correctClock(by: page.serverTime, roundTrip: roundTrip())
        return page
    }

    private func startResync(of tables: [String]) async throws {
        logger.info("sync.resync", metadata: ["tables": "\(tables.count)"])
        account = nil
        try await store.startResync(of: tables)
    }

    // MARK: - Withheld tables

    private static let pause = Duration.seconds(3600)

    /// The withheld tables that the engine does not ask for now.
    var pausedTables: [String: WithheldReason] {
        let now = elapsed()
        return pulls.paused.filter { $0.value.until > now }.mapValues(\.reason)
    }

    /// Pauses tables for an hour, or until the next run.
    func pause(_ tables: [String: WithheldReason]) {
        if tables.isEmpty, pulls.paused.isEmpty { return }
        for (table, reason) in tables { pulls.paused[table] = (reason, elapsed() + Self.pause) }
        statuses.show(withheld: pausedTables)
    }

    /// - Parameter asked: The requested tables. Instead of answering, the remote listed withheld tables.
    /// - Throws: ``RemoteFailure/protocolError(_:)`` if no requested table is withheld, because asking again would
    ///   never end.
    func pause(_ withheld: [String: WithheldReason], insteadOf asked: [String]) throws {
        guard asked.contains(where: { withheld[$0] != nil }) else {
            throw RemoteFailure.protocolError("The remote neither answered nor withheld any requested table.")
        }
        pause(withheld)
    }

    // MARK: - Mass removals

    /// The tables that the remote keeps. Nil: all, or the engine is not connected now.
    private var servedTables: Set<String>? { account?.tables }

    func settleRemoval(in scope: Int64) async throws -> Bool {
        let removal = try await store.massRemoval(in: scope)
        if removal.isMass {
            // A run that ends does not wait for the app's answer.
            try Task.checkCancellation()
            ask(removal, in: scope)
        } else {
            try await store.settleUnseen(.remove, in: scope, served: servedTables)
        }
        return true
    }

    /// Asks the app about a mass removal, while pulls continue. If the removal grows before the answer, the engine asks
    /// again. Without an answer, the engine asks again in the next run.
    private func ask(_ removal: MassRemoval, in scope: Int64) {
        let (store, logger, onMassRemoval, dependencies) = (store, logger, onMassRemoval, dependencies)
        pulls.asking[scope] = storeTasks.spawn {
            do {
                var (asked, present) = (removal, removal)
                var answer: MassRemoval.Decision
                repeat {
                    asked = present
                    answer = try await dependencies.promptly { [asked] in await onMassRemoval(asked) }
                    try Task.checkCancellation()
                    present = try await store.massRemoval(in: scope)
                } while !asked.covers(present)
                try await store.settleUnseen(answer, in: scope, served: await self.servedTables)
                // Deletions may have begun to wait for the next page.
                self.poke()
            } catch { logger.error("sync.removal.failed", metadata: ["error": "\(error)"]) }
            await self.asked(in: scope)
        }
    }

    private func asked(in scope: Int64) { pulls.asking[scope] = nil }
}
