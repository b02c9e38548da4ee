// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
@_spi(Internals) import OptimistWire

/// Receives the person's spaces, after the person's own account.
extension SyncEngine {
    /// Asks for one batch of pages, so that later pokes are heard between batches.
    ///
    /// Spaces need both guarantees, because their tables begin without snapshots and their cursors are compared.
    func pullSpaces(_ limit: Int, _ account: RemoteAccount) async throws -> SyncMachine.PullOutcome {
        guard store.hasSpaces, remote.guarantees.tellMissedRows else { return .page(hasMore: false) }
        if pulls.spaces == nil { pulls.spaces = try await beginSpaces(account) }
        var hasAsked = false
        while let steps = try await nextSteps(account), steps != SpacePlan.Steps() {
            for scope in steps.removals { _ = try await settleRemoval(in: scope) }
            if steps.asks.isEmpty { continue }
            if hasAsked { return .page(hasMore: true) }
            hasAsked = true
            try await take(steps.asks, limit, account)
        }
        // Without a plan, there was news: the pull begins again with the person's own account.
        guard let plan = pulls.spaces else { return .page(hasMore: true) }
        pulls.spaces = nil
        return .page(hasMore: false, lacksSpaces: plan.isTroubled)
    }

    /// Asks which spaces have changed. The remote also names the spaces that it does not have.
    private func beginSpaces(_ account: RemoteAccount) async throws -> SpacePlan {
        try await store.leaveUnsentSpaces()
        try await store.followSpaces()
        let spaces = served(try await store.spaces(), account)
        let cursors = Dictionary(
            spaces.compactMap { space in space.reached.map { (space.id, $0) } }, uniquingKeysWith: { $1 })
        if cursors.isEmpty { return SpacePlan(spaces, changed: []) }
        let answer = try await remote.changedSpaces(since: cursors)
        var present: [SpacePlan.Space] = []
        for space in spaces {
            if let end = answer.end(of: space.id, at: space.reached) {
                try await leave(space.scope, space.id, end)
            } else if answer.missing.contains(space.id) {
                try await meetLoss(of: space.scope, space.id)
            } else {
                present.append(space)
            }
        }
        try await store.finishDepartures()
        return SpacePlan(present, changed: answer.changed)
    }

    /// The remote does not know the space, because it was restored.
    private func meetLoss(of scope: Int64, _ space: String) async throws {
        // The server will never confirm the departure.
        if try await store.hasLeft(scope) { return try await leave(scope, space, EndedAccess(.left)) }
        pulls.spaces?.drop(scope)
        if try await store.beginAgain(with: scope) { logger.notice("sync.space.lost") }
    }

    private func nextSteps(_ account: RemoteAccount) async throws -> SpacePlan.Steps? {
        guard let due = pulls.spaces?.due else { return nil }
        let asked = pulls.askedSpaces
        let spaces = served(try await store.spaces(due), account)
        return pulls.spaces?.next(spaces.sorted { (asked[$0.scope] ?? 0, $0.scope) < (asked[$1.scope] ?? 0, $1.scope) })
    }

    /// The spaces with only the tables that the engine may ask for.
    private func served(_ spaces: [SpacePlan.Space], _ account: RemoteAccount) -> [SpacePlan.Space] {
        let paused = pausedTables
        return spaces.map { space in
            var space = space
            space.tableProgress.removeAll { account.tables?.contains($0.table) == false || paused[$0.table] != nil }
            space.isAsking = pulls.asking[space.scope] != nil
            return space
        }
    }

    private func take(_ asks: [SpacePlan.Ask], _ limit: Int, _ account: RemoteAccount) async throws {
        let origins = try await store.origins()
        let requests = asks.map { ask in
            RemotePage.Request(
                tables: ask.tables, cursor: ask.cursor ?? account.initialCursor, limit: limit, origins: origins,
                space: ask.space)
        }
        pulls.asked(asks.map(\.scope))
        let roundTrip = RoundTrip(dependencies)
        let answers = try await remote.pullAll(requests)
        guard answers.count == asks.count else {
            throw RemoteFailure.protocolError("The remote answered \(answers.count) of \(asks.count) pulls.")
        }
        let pages = zip(asks, answers).compactMap { ask, answer in
            (try? answer.get()).map { SpacePage(page: $0, ask: ask) }
        }
        try await store.correctClock(by: pages.first?.page.serverTime, roundTrip: roundTrip())
        try await take(pages, account, origins)
        for (request, (ask, answer)) in zip(requests, zip(asks, answers)) {
            if case .failure(let failure) = answer { try await meet(failure, of: ask, at: request.cursor) }
        }
    }

    private func take(_ pages: [SpacePage], _ account: RemoteAccount, _ origins: [String]) async throws {
        var pages = pages
        for (index, told) in pages.enumerated().reversed() {
            let (page, ask) = (told.page, told.ask)
            try await forgetDeletedRows(
                in: ask.scope, rememberedFor: account.tombstoneDays, at: page.serverTime, knowing: ask.cursor)
            pause(page.withheld)
            if ask.cursor == nil, try await isVoid(page, ask) { pages.remove(at: index) }
        }
        let applied = try await store.apply(
            pages, initialCursor: account.initialCursor, origins: origins, served: account.tables)
        for told in pages where applied.contains(told.ask.scope) {
            if !told.page.epochs.isEmpty { store.writes.send() }
            pulls.spaces?.took(told.ask, hasMore: told.page.hasMore)
        }
    }

    /// Whether the first page of a space is from another epoch than the last one that the device knows.
    private func isVoid(_ page: RemotePage, _ ask: SpacePlan.Ask) async throws -> Bool {
        do {
            return try await hasAskedAboutFormerLife(page.cursor, ask.tables, in: ask.scope, ask.space)
        } catch let failure as RemoteFailure {
            try await meet(failure, of: ask, at: page.from)
            return true
        }
    }

    /// Meets the trouble of one space. The others continue.
    private func meet(_ failure: RemoteFailure, of ask: SpacePlan.Ask, at cursor: String) async throws {
        logger.info("sync.space.failed", metadata: ["failure": "\(failure)"])
        switch failure {
        case .accessEnded(let end): return try await leave(ask.scope, ask.space, end)
        case .spaceNotFound:
            // With a cursor, only its epoch shows whether the space was deleted.
            if ask.cursor == nil { return try await meetLoss(of: ask.scope, ask.space) }
            pulls.spaces?.drop(ask.scope)
        case .withheld(let withheld): try pause(withheld, insteadOf: ask.tables)
        case .cursorLost: try await store.startResync(of: ask.tables, in: ask.scope)
        case .forked(let epochs):
            try await store.rewind(ask.tables, in: ask.scope, at: cursor, to: epochs)
        case .unreachable: break
        default: throw failure
        }
        pulls.spaces?.failed(ask.scope)
    }

    private func leave(_ scope: Int64, _ space: String, _ end: EndedAccess) async throws {
        logger.info("sync.space.ended", metadata: ["reason": "\(end.reason)"])
        pulls.spaces?.drop(scope)
        try await store.leaveScope(scope, of: space, end)
    }
}

extension ChangedSpaces {
    /// The end of the access to a space that was received up to a cursor. Nil if there is none, or if the remote may have
    /// lost the space when it was restored.
    func end(of space: String, at cursor: String?) -> EndedAccess? {
        if let end = ended[space] { return end }
        guard missing.contains(space), let epoch, cursor.flatMap({ SyncState($0)?.epoch }) == epoch else { return nil }
        return EndedAccess(.deleted)
    }
}
