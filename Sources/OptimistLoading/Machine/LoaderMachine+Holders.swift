// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension LoaderMachine {
    /// - Parameter isFresh: Whether the value must not have expired.
    @usableFromInline
    mutating func use(_ place: Int, isFresh: Bool, _ now: () -> Duration) -> Bool {
        if memory.hasAge || (isFresh && kept[place]?.expiresAt != nil) {
            let now = now()
            guard memory.has(place, at: now), !isFresh || kept[place]?.isFresh(at: now) == true else { return false }
        } else if kept[place] == nil {
            return false
        }
        counts.memoryHits += 1
        memory.use(place)
        return true
    }

    /// - Returns: The holder, and events to deliver to it immediately, in order.
    @usableFromInline
    mutating func subscribe(
        _ place: Int, _ priority: LoadPriority, _ freshness: Freshness, _ manner: AskingManner, lane: String?,
        at now: Duration
    ) -> (id: HolderID, news: [Decision.News], Decision) {
        grow(to: place)
        let serial = nextSerial()
        let asker = manner.asker.flatMap { flight($0)?.stage == .fetching ? $0 : nil }
        let holder = holders.insert(
            Holder(serial: serial, place: place, freshness: freshness, asker: asker, priority: priority))
        var (news, decision) = ([] as [Decision.News], Decision())
        let isHere = memory.has(place, at: now)
        let isFresh = isHere && !isExpired(place, for: freshness, at: now)
        if freshness == .cachedThenRefreshed && isHere || freshness == .cached && isFresh {
            counts.memoryHits += 1
            if priority != .prefetch { memory.use(place) }
            holders[holder]?.pin = memory.pin(place)
            news = [.value(.memory)]
        }
        let hasValue = !news.isEmpty
        if !hasValue || freshness == .cachedThenRefreshed && !isFresh {
            let asksAnyway = manner.isRetry || freshness == .fresh
            if !asksAnyway, let failure = pausedFailure(place, at: now) {
                if !hasValue { news = [.failure(failure.error)] }
                holders[holder]?.hasFailed = true
            } else if let asker, isWaited(for: asker, by: place) {
                news.append(.failure(OptimistError.fetchWaitsForItself))
                holders[holder]?.hasFailed = true
            } else {
                news += knownOfFlight(place, hasValue: hasValue)
                board(place, holder, lane: lane, isRead: hasDisk && !isHere, &decision, at: now)
                if manner.outlives, hasValue { flights[place]?.isOfItsOwn = true }
                if manner.outlives { flights[place]?.mayOutlive = true }
            }
        }
        return (HolderID(place: holder, serial: serial), news, decision)
    }

    /// With ``Freshness/cachedThenRefreshed``, the source must confirm a seed.
    private func isExpired(_ place: Int, for freshness: Freshness, at now: Duration) -> Bool {
        freshness == .cachedThenRefreshed && memory.isSeed(place) || kept[place]?.isFresh(at: now) != true
    }

    private func pausedFailure(_ place: Int, at now: Duration) -> PausedFailure? {
        if failures.isEmpty { return nil }
        return failures[place].flatMap { now < $0.until ? $0 : nil }
    }

    /// A partial value is skipped if the holder already has a complete one.
    private func knownOfFlight(_ place: Int, hasValue: Bool) -> [Decision.News] {
        guard let flight = flights[place] else { return [] }
        let partial: [Decision.News] = flight.hasPartial && !hasValue ? [.partial] : []
        return partial + (flight.progress.map { [.progress($0)] } ?? [])
    }

    private mutating func board(
        _ place: Int, _ number: Int, lane: String?, isRead: Bool, _ decision: inout Decision, at now: Duration
    ) {
        guard let holder = holders[number] else { return }
        let isNew = flights[place] == nil
        if isNew {
            forgetFailure(place, &decision)
            let flight = Flight(
                serial: nextSerial(), lane: self.lane(named: lane, at: now),
                stage: isRead ? .queuedToRead : .queuedToFetch,
                priority: holder.priority, queuedAt: now)
            flights[place] = flight
            occupy(flight.lane)
        } else {
            counts.joins += 1
        }
        holders[number]?.isWaiting = true
        waiters.append(number, to: place)
        suspend(holder)
        flights[place]?.join(holder)
        if holder.priority != .prefetch { flights[place]?.isUnseen = false }
        if flights[place]?.lingersUntil != nil {
            flights[place]?.lingersUntil = nil
            lists.remove(place)
        }
        if isNew { queue(place, &decision, at: now) } else { reconsider(place, &decision, at: now) }
        // The asker's slot is now lent, possibly in another lane.
        if let asker = holder.asker, let lane = flight(asker)?.lane { pump(lane, &decision, at: now) }
    }

    @usableFromInline
    mutating func change(_ id: HolderID, to priority: LoadPriority, at now: Duration) -> Decision {
        var decision = Decision()
        guard let holder = holders[id.place], holder.serial == id.serial, holder.priority != priority else {
            return decision
        }
        holders[id.place]?.priority = priority
        guard holder.isWaiting else { return decision }
        flights[holder.place]?.waiting[holder.priority] -= 1
        flights[holder.place]?.waiting[priority] += 1
        if priority != .prefetch { flights[holder.place]?.isUnseen = false }
        reconsider(holder.place, &decision, at: now)
        return decision
    }

    @usableFromInline
    mutating func leave(_ id: HolderID, at now: Duration) -> Decision {
        var decision = Decision()
        guard let holder = holders[id.place], holder.serial == id.serial else { return decision }
        holders.remove(id.place)
        if let pin = holder.pin { memory.unpin(pin) }
        guard holder.isWaiting else { return decision }
        waiters.remove(id.place)
        flights[holder.place]?.leave(holder)
        resume(holder)
        if flights[holder.place]?.waiting.isEmpty == false {
            reconsider(holder.place, &decision, at: now)
        } else {
            abandon(holder.place, &decision, at: now)
        }
        return decision
    }

    /// Whether a holder's fetch has failed, or its value was dropped from memory.
    func isHeldInVain(_ id: HolderID) -> Bool {
        guard let holder = holders[id.place], holder.serial == id.serial, !holder.isWaiting else { return false }
        return holder.hasFailed || holder.pin.map { !memory.has($0) } == true
    }

    /// Moves these queued flights behind all others of the same priority, in this order.
    @usableFromInline
    mutating func order(_ places: [Int], at priority: LoadPriority) {
        for place in places {
            guard let flight = flights[place], flight.priority == priority, flight.waitingFetches == 0,
                !flight.stage.isUnderWay
            else { continue }
            lists.remove(place)
            lists.append(place, to: lanes[laneNumber(flight)].queue(priority))
        }
    }
}
