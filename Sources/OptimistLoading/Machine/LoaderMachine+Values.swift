// This source file is part of the Optimist open source project, under the MIT licence.

extension LoaderMachine {
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
        // A value that exceeds the memory limit by itself was not stored.
        if !memory.has(place, at: now) {
            kept[place] = nil
            decision.touched.append(place)
        }
    }

    /// Stores a value of the app. It is newer than the result of any running fetch, so these fetches stop.
    ///
    /// - Parameter isSeed: Whether to hold the value until a fetch that begins later confirms it.
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

    /// Waiting holders still get the result of the running fetch.
    @usableFromInline
    mutating func remove(_ place: Int) -> Decision {
        var decision = Decision()
        forgetFailure(place, &decision)
        forget(memory.remove(place), &decision)
        flights[place]?.isForgotten = true
        decision.touched.append(place)
        return decision
    }

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

    @usableFromInline
    mutating func trim(to share: Double, at now: Duration) -> Decision {
        var decision = Decision()
        forget(memory.expire(at: now), &decision)
        forget(memory.trim(to: share), &decision)
        return decision
    }
}
