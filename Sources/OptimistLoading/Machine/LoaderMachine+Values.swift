// This source file is part of the Optimist open source project, under the MIT licence.

/// The values that flights bring and the machine keeps, and those that the app puts here or takes away itself.
extension LoaderMachine {
    /// A value that has come, and what is known of it.
    @usableFromInline
    struct Arrival: Sendable {
        let hash: Int
        @usableFromInline let cost: Int
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

    /// A flight has brought a value: it replaces the value here, also a seed.
    mutating func keep(_ arrival: Arrival, _ place: Int, _ decision: inout Decision, at now: Duration) {
        let isUnseen = flights[place]?.isUnseen == true
        put(arrival, place, isUnseen: isUnseen, &decision, at: now)
        if isUnseen, hasValue(place) { counts.prefetched(arrival.cost) }
    }

    private mutating func put(
        _ arrival: Arrival, _ place: Int, isUnseen: Bool = false, isSeed: Bool = false, _ decision: inout Decision,
        at now: Duration
    ) {
        if memory.hasAge { forget(memory.expire(at: now), &decision) }
        kept[place] = arrival.kept
        let released = memory.store(
            place, hash: arrival.hash, cost: arrival.cost, at: now, isUnseen: isUnseen, isSeed: isSeed)
        forget(released, &decision)
        // One that costs more than all may is not even stored.
        if !memory.has(place, at: now) {
            kept[place] = nil
            decision.touched.append(place)
        }
    }

    /// The app has a value: no fetch that has begun by now brings a newer one, so none of those goes on.
    ///
    /// - Parameter isSeed: It is held on to until a fetch that begins later confirms it.
    @usableFromInline
    mutating func store(_ arrival: Arrival, _ place: Int, isSeed: Bool, at now: Duration) -> Decision {
        var decision = Decision()
        grow(to: place)
        forgetFailure(place, &decision)
        put(arrival, place, isSeed: isSeed, &decision, at: now)
        serve(.value(.memory), place, &decision) { $0 != .fresh }
        if flights[place]?.mustFetch == true {
            askAnew(place, &decision, at: now)
        } else {
            giveUp(place, &decision, at: now)
        }
        return decision
    }

    /// Forgets a value. Those who wait for it get what comes.
    @usableFromInline
    mutating func remove(_ place: Int) -> Decision {
        var decision = Decision()
        forgetFailure(place, &decision)
        forget(memory.remove(place), &decision)
        flights[place]?.isForgotten = true
        decision.touched.append(place)
        return decision
    }

    /// Forgets everything, and gives up what is under way (C10).
    @usableFromInline
    mutating func removeAll(_ error: any Error) -> Decision {
        var decision = Decision()
        for place in failures.keys.sorted() {
            forgetFailure(place, &decision)
            decision.touched.append(place)
        }
        forget(memory.removeAll(), &decision)
        for place in flights.indices {
            guard let flight = flights[place] else { continue }
            if let task = tasks[place] { decision.actions.append(.cancel(task)) }
            if flight.stage.isUnderWay { lanes[laneNumber(flight)].end(flight) }
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
