// This source file is part of the Optimist open source project, under the MIT licence.

/// What flights bring, and what is kept of it.
extension LoaderMachine {
    @usableFromInline
    mutating func report(_ progress: Double, of id: FlightID) -> Decision {
        var decision = Decision()
        guard flight(id) != nil else { return decision }
        flights[id.place]?.progress = progress
        tell(.progress(progress), id.place, &decision)
        return decision
    }

    /// Returns nil if nobody is to be shown anything any more.
    @usableFromInline
    mutating func show(_ id: FlightID) -> Decision? {
        guard flight(id) != nil else { return nil }
        var decision = Decision()
        flights[id.place]?.hasPartial = true
        tell(.partial, id.place, &decision)
        return decision
    }

    /// A value that a flight has brought, and what is known of it.
    @usableFromInline
    struct Arrival: Sendable {
        let hash: Int
        let cost: Int
        let validity: Validity
        let expiresAt: Duration?

        @usableFromInline
        init(hash: Int, cost: Int, validity: Validity, expiresAt: Duration?) {
            self.hash = hash
            self.cost = cost
            self.validity = validity
            self.expiresAt = expiresAt
        }

        var kept: Kept { Kept(validity: validity, expiresAt: expiresAt) }
    }

    /// The disk has been asked. Nil: it has nothing.
    ///
    /// - Returns: Nil if the flight has ended meanwhile: another key may have its place.
    @usableFromInline
    mutating func read(_ arrival: Arrival?, of id: FlightID, at now: Duration) -> Decision? {
        guard let flight = flight(id), flight.stage == .reading else { return nil }
        var decision = Decision()
        lanes[Self.diskLane].end(flight.priority)
        // What the app has put here meanwhile is newer than what the disk has.
        if let arrival, !flight.isForgotten, kept[id.place] == nil {
            counts.diskHits += 1
            let isEnough = arrival.kept.isFresh(at: now) && !flight.mustFetch
            keep(arrival, id.place, &decision, at: now)
            if isEnough {
                land(id.place, .value(.disk), &decision)
            } else {
                // It has expired: those to whom it will do for the moment get it, and the source is asked about it.
                let content = waitingHolders(id.place).filter { holders[$0]?.freshness == .cachedThenRefreshed }
                if !content.isEmpty {
                    if flight.mayOutlive { flights[id.place]?.isOfItsOwn = true }
                    decision.actions.append(.tell(.value(.disk), content, version: nextVersion()))
                }
            }
        }
        if flights[id.place] != nil { fetchInstead(id.place, &decision, at: now) }
        pump(Self.diskLane, &decision, at: now)
        return decision
    }

    private mutating func fetchInstead(_ place: Int, _ decision: inout Decision, at now: Duration) {
        // The task that has read is not this one's.
        let serial = nextSerial()
        flights[place]?.serial = serial
        flights[place]?.stage = .queuedToFetch
        flights[place]?.queuedAt = now
        flights[place]?.task = nil
        if let flight = flights[place], flight.waiting.isEmpty, !flight.isOfItsOwn {
            counts.dropped += 1
            return remove(place, &decision)
        }
        queue(place, &decision, at: now)
    }

    /// The source has answered.
    ///
    /// - Returns: Nil if nobody wants it any more, or it does not come from a flight that is under way. `isKept` is false if
    ///   it was removed meanwhile.
    @usableFromInline
    mutating func fetched(
        _ arrival: Arrival, isUnchanged: Bool, of id: FlightID, at now: Duration
    ) -> (isKept: Bool, Decision)? {
        guard let flight = flight(id), flight.stage == .fetching else { return nil }
        var decision = Decision()
        if isUnchanged { counts.unchanged += 1 }
        if !flight.isForgotten { keep(arrival, id.place, &decision, at: now) }
        end(id.place, .value(.source), &decision, at: now)
        return (!flight.isForgotten, decision)
    }

    /// - Parameter pause: How long the error is given to whoever asks. Nil: the next who asks tries again (C4).
    @usableFromInline
    mutating func failed(_ error: any Error, pause: Duration?, of id: FlightID, at now: Duration) -> Decision {
        var decision = Decision()
        guard let flight = flight(id), flight.stage == .fetching else { return decision }
        counts.failures += 1
        if let pause, !flight.isForgotten {
            if failures.count >= Self.mostFailures { forgetFailures(before: now, &decision) }
            if failures.count < Self.mostFailures {
                failures[id.place] = PausedFailure(error: error, until: now + pause)
            }
        }
        end(id.place, .failure(error), &decision, at: now)
        return decision
    }

    private static let mostFailures = 1_000

    private mutating func forgetFailures(before now: Duration, _ decision: inout Decision) {
        for (place, failure) in failures where failure.until <= now {
            failures[place] = nil
            decision.touched.append(place)
        }
    }

    private mutating func end(
        _ place: Int, _ news: Decision.News, _ decision: inout Decision, at now: Duration
    ) {
        guard let flight = flights[place] else { return }
        lanes[flight.lane].end(flight.priority)
        land(place, news, &decision)
        pump(flight.lane, &decision, at: now)
    }

    /// Ends a flight that holds no slot any more.
    private mutating func land(_ place: Int, _ news: Decision.News, _ decision: inout Decision) {
        tell(news, place, &decision)
        while let holder = waiters.first(of: place) {
            waiters.remove(holder)
            holders[holder]?.isWaiting = false
            if holders[holder]?.pin == nil { holders[holder]?.pin = memory.pin(place) }
        }
        remove(place, &decision)
    }

    private mutating func keep(_ arrival: Arrival, _ place: Int, _ decision: inout Decision, at now: Duration) {
        let isUnseen = flights[place]?.isUnseen == true
        if isUnseen { counts.prefetchedBytes += arrival.cost }
        // A value that the source has confirmed takes the place of one that was shown until then.
        if let pin = seeds.removeValue(forKey: place) { memory.unpin(pin) }
        put(arrival, place, isUnseen: isUnseen, &decision, at: now)
    }

    private mutating func put(
        _ arrival: Arrival, _ place: Int, isUnseen: Bool, _ decision: inout Decision, at now: Duration
    ) {
        if memory.hasAge { forget(memory.expire(at: now), &decision) }
        kept[place] = arrival.kept
        let released = memory.store(place, hash: arrival.hash, cost: arrival.cost, at: now, isUnseen: isUnseen)
        forget(released, &decision)
        // One that costs more than all may is not even stored.
        if !memory.has(place, at: now) {
            kept[place] = nil
            decision.touched.append(place)
        }
    }

    // MARK: - By the app's word

    /// Puts a value here that did not come by a flight. A seed is held on to until the source confirms it.
    @usableFromInline
    mutating func store(_ arrival: Arrival, _ place: Int, isSeed: Bool, at now: Duration) -> Decision {
        var decision = Decision()
        grow(to: place)
        failures[place] = nil
        if let pin = seeds.removeValue(forKey: place) { memory.unpin(pin) }
        put(arrival, place, isUnseen: false, &decision, at: now)
        if isSeed { seeds[place] = memory.pin(place) }
        return decision
    }

    /// Forgets a value. Those who wait for it get what comes.
    @usableFromInline
    mutating func remove(_ place: Int) -> Decision {
        var decision = Decision()
        failures[place] = nil
        seeds[place] = nil
        forget(memory.remove(place), &decision)
        flights[place]?.isForgotten = true
        decision.touched.append(place)
        return decision
    }

    /// Forgets everything, and gives up what is under way (C10).
    @usableFromInline
    mutating func removeAll(_ error: any Error) -> Decision {
        var decision = Decision()
        decision.touched += failures.keys.sorted()
        (failures, seeds) = ([:], [:])
        forget(memory.removeAll(), &decision)
        for (place, flight) in flights.enumerated() {
            guard let flight else { continue }
            if let task = flight.task { decision.actions.append(.cancel(task)) }
            if flight.stage.isUnderWay { lanes[laneNumber(flight)].end(flight.priority) }
            land(place, .failure(error), &decision)
        }
        return decision
    }

    /// Makes room, as when the system is short of memory.
    @usableFromInline
    mutating func trim(to share: Double, at now: Duration) -> Decision {
        var decision = Decision()
        forget(memory.expire(at: now), &decision)
        forget(memory.trim(to: share), &decision)
        return decision
    }
}
