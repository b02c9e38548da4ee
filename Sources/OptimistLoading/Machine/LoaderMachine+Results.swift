// This source file is part of the Optimist open source project, under the MIT licence.

extension LoaderMachine {
    @usableFromInline
    mutating func report(_ progress: Double, of id: FlightID) -> Decision {
        var decision = Decision()
        guard flight(id) != nil else { return decision }
        flights[id.place]?.progress = progress
        tellAll(.progress(progress), id.place, &decision)
        return decision
    }

    /// Returns nil if the flight has ended.
    @usableFromInline
    mutating func show(_ id: FlightID) -> Decision? {
        guard flight(id) != nil else { return nil }
        var decision = Decision()
        flights[id.place]?.hasPartial = true
        tellAll(.partial, id.place, &decision)
        return decision
    }

    /// Takes the result of a disk read. Nil: not found.
    ///
    /// - Returns: Nil if the flight has ended: its place may already belong to another key.
    @usableFromInline
    mutating func read(_ arrival: Arrival?, of id: FlightID, at now: Duration) -> Decision? {
        guard let flight = flight(id), flight.stage == .reading else { return nil }
        var decision = Decision()
        lanes[Self.diskLane].end(flight)
        var isEnough = false
        if let arrival, !flight.isForgotten {
            counts.diskHits += 1
            keep(arrival, id.place, &decision, at: now)
            if arrival.kept.isFresh(at: now) {
                serve(.value(.disk), id.place, &decision) { $0 != .fresh }
                isEnough = !flight.mustFetch
            } else {
                // Expired: deliver it to holders that accept it, and ask the source.
                forEachWaiting(id.place) { machine, holder in
                    guard machine.holders[holder]?.freshness == .cachedThenRefreshed else { return }
                    machine.tell(.value(.disk), holder, &decision)
                    if flight.mayOutlive { machine.flights[id.place]?.isOfItsOwn = true }
                }
            }
        }
        if isEnough || flight.waiting.isEmpty {
            if !isEnough { counts.dropped += 1 }
            remove(id.place, &decision)
        } else {
            lists.remove(id.place)
            askSource(id.place, &decision, at: now)
        }
        pump(Self.diskLane, &decision, at: now)
        return decision
    }

    /// Takes the result of a fetch.
    ///
    /// - Returns: Nil if the flight has ended. `isKept` is false if the key was removed during the fetch.
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

    /// - Parameter pause: How long callers get the error. Nil: the next caller tries again.
    @usableFromInline
    mutating func failed(_ error: any Error, pause: Duration?, of id: FlightID, at now: Duration) -> Decision {
        var decision = Decision()
        guard let flight = flight(id), flight.stage == .fetching else { return decision }
        counts.failures += 1
        if let pause, !flight.isForgotten {
            if failures.count >= Self.mostFailures { forgetFailures(before: now, &decision) }
            if failures.count < Self.mostFailures {
                forgetFailure(id.place, &decision)
                failures[id.place] = PausedFailure(error: error, until: now + pause)
            }
        }
        end(id.place, .failure(error), &decision, at: now)
        return decision
    }

    private static let mostFailures = 1_000

    private mutating func forgetFailures(before now: Duration, _ decision: inout Decision) {
        for (place, failure) in failures where failure.until <= now {
            forgetFailure(place, &decision)
            decision.touched.append(place)
        }
    }

    /// Passes the error to the caller, because the error's deinitializer is foreign code that must not run under the
    /// lock.
    mutating func forgetFailure(_ place: Int, _ decision: inout Decision) {
        if !failures.isEmpty, let failure = failures.removeValue(forKey: place) {
            decision.released.append(failure.error)
        }
    }

    private mutating func end(
        _ place: Int, _ news: Decision.News, _ decision: inout Decision, at now: Duration
    ) {
        guard let flight = flights[place] else { return }
        lanes[flight.lane].end(flight)
        land(place, news, &decision)
        pump(flight.lane, &decision, at: now)
    }

    /// The flight must not hold a slot.
    mutating func land(_ place: Int, _ news: Decision.News, _ decision: inout Decision) {
        serve(news, place, &decision) { _ in true }
        remove(place, &decision)
    }

    /// Delivers a result to the holders that accept it.
    mutating func serve(
        _ news: Decision.News, _ place: Int, _ decision: inout Decision, if contents: (Freshness) -> Bool
    ) {
        forEachWaiting(place) { machine, number in
            guard let holder = machine.holders[number], contents(holder.freshness) else { return }
            machine.waiters.remove(number)
            machine.flights[place]?.leave(holder)
            machine.resume(holder)
            machine.holders[number]?.isWaiting = false
            if case .failure = news { machine.holders[number]?.hasFailed = true }
            if holder.pin == nil { machine.holders[number]?.pin = machine.memory.pin(place) }
            machine.tell(news, number, &decision)
        }
    }
}
