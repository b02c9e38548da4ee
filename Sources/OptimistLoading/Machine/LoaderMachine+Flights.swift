// This source file is part of the Optimist open source project, under the MIT licence.

extension LoaderMachine {
    func laneNumber(_ flight: Flight) -> Int {
        switch flight.stage {
        case .queuedToRead, .reading: Self.diskLane
        case .queuedToFetch, .fetching: flight.lane
        }
    }

    mutating func queue(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place] else { return }
        let lane = laneNumber(flight)
        lists.append(place, to: lanes[lane].queue(flight))
        pump(lane, &decision, at: now)
    }

    mutating func reconsider(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard var flight = flights[place] else { return }
        let (lane, former) = (laneNumber(flight), flight.priority)
        flight.priority = flight.waiting.urgency
        let queue = lanes[lane].queue(flight)
        let isElsewhere = !flight.stage.isUnderWay && lists.list(of: place) != queue
        guard flight.priority != former || isElsewhere else { return }
        flights[place]?.priority = flight.priority
        if flight.stage.isUnderWay {
            lanes[lane].change(from: former, to: flight.priority)
        } else if isElsewhere {
            lists.remove(place)
            lists.append(place, to: queue)
        }
        pump(lane, &decision, at: now)
    }

    /// A flight has lost its last holder.
    mutating func abandon(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place], !flight.isOfItsOwn else { return reconsider(place, &decision, at: now) }
        guard flight.stage.isUnderWay, limits.linger > .zero else { return giveUp(place, &decision, at: now) }
        flights[place]?.lingersUntil = now + limits.linger
        let isFirst = lists.first(of: lingeringList) == nil
        lists.append(place, to: lingeringList)
        if isFirst { decision.actions.append(.wake(at: now + limits.linger)) }
        // A lingering flight yields to all others.
        reconsider(place, &decision, at: now)
        pump(laneNumber(flight), &decision, at: now)
    }

    mutating func giveUp(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place] else { return }
        guard flight.stage.isUnderWay else {
            counts.dropped += 1
            return remove(place, &decision)
        }
        stop(place, &decision)
        pump(laneNumber(flight), &decision, at: now)
    }

    /// The result of the current fetch or read would be older than the stored value, so the flight starts a new fetch.
    mutating func askAnew(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place], flight.stage != .queuedToFetch else {
            return reconsider(place, &decision, at: now)
        }
        let lane = laneNumber(flight)
        lists.remove(place)
        if flight.stage.isUnderWay {
            counts.cancelled += 1
            lanes[lane].end(flight)
            if let task = tasks[place] { decision.actions.append(.cancel(task)) }
        }
        flights[place]?.progress = nil
        flights[place]?.hasPartial = false
        askSource(place, &decision, at: now)
        pump(lane, &decision, at: now)
    }

    /// Moves a flight to the fetch queue. It must not hold a slot or be in a list.
    mutating func askSource(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place] else { return }
        // A task of the previous stage must not affect the new one.
        let serial = nextSerial()
        flights[place]?.serial = serial
        flights[place]?.asking = 0
        tasks[place] = nil
        flights[place]?.stage = .queuedToFetch
        flights[place]?.priority = flight.waiting.urgency
        flights[place]?.queuedAt = now
        queue(place, &decision, at: now)
    }

    private mutating func stop(_ place: Int, _ decision: inout Decision) {
        guard let flight = flights[place] else { return }
        counts.cancelled += 1
        if let task = tasks[place] { decision.actions.append(.cancel(task)) }
        lanes[laneNumber(flight)].end(flight)
        remove(place, &decision)
    }

    mutating func remove(_ place: Int, _ decision: inout Decision) {
        lists.remove(place)
        if let flight = flights[place] { vacate(flight.lane) }
        flights[place] = nil
        tasks[place] = nil
        decision.touched.append(place)
    }

    /// Begins as many flights as there are slots, the most urgent first. In a batch, this waits until the batch ends.
    mutating func pump(_ number: Int, _ decision: inout Decision, at now: Duration) {
        if postpone(number) { return }
        while let place = lists.first(of: lanes[number].innerQueue), lanes[number].hasInnerRoom {
            if isClosed(number, &decision, at: now) { return }
            begin(place, &decision, at: now)
        }
        for priority in [LoadPriority.visible, .soon, .prefetch] {
            while let place = lists.first(of: lanes[number].queue(priority)) {
                if isClosed(number, &decision, at: now) { return }
                if !lanes[number].hasRoom(for: priority) { giveWay(number, &decision) }
                guard lanes[number].hasRoom(for: priority) else { break }
                begin(place, &decision, at: now)
            }
        }
    }

    private func isClosed(_ number: Int, _ decision: inout Decision, at now: Duration) -> Bool {
        guard let opensAt = lanes[number].opensAt, now < opensAt else { return false }
        decision.actions.append(.wake(at: opensAt))
        return true
    }

    /// Cancels a lingering flight to free a slot.
    private mutating func giveWay(_ lane: Int, _ decision: inout Decision) {
        var place = lists.first(of: lingeringList)
        while let present = place {
            if flights[present].map(laneNumber) == lane { return stop(present, &decision) }
            place = lists.next(after: present)
        }
    }

    private mutating func begin(_ place: Int, _ decision: inout Decision, at now: Duration) {
        guard let flight = flights[place] else { return }
        lists.remove(place)
        lanes[laneNumber(flight)].begin(flight.priority, at: now)
        let id = FlightID(place: place, serial: flight.serial)
        if flight.stage == .queuedToRead {
            flights[place]?.stage = .reading
            decision.actions.append(.read(id))
        } else {
            counts.fetches += 1
            counts.waited(now - flight.queuedAt, at: flight.priority)
            flights[place]?.stage = .fetching
            decision.actions.append(.fetch(id, former: kept[place]?.validity))
        }
    }

    /// Returns false if the flight was cancelled after it began: the caller must then cancel the task.
    @usableFromInline
    mutating func keep(_ task: Task<Void, Never>, of id: FlightID) -> Bool {
        guard flight(id) != nil else { return false }
        tasks[id.place] = task
        return true
    }

    /// Cancels flights that have lingered long enough, and begins delayed ones.
    @usableFromInline
    mutating func tick(at now: Duration) -> Decision {
        var decision = Decision()
        while let place = lists.first(of: lingeringList), let until = flights[place]?.lingersUntil {
            guard until <= now else {
                decision.actions.append(.wake(at: until))
                break
            }
            giveUp(place, &decision, at: now)
        }
        for number in lanes.indices where lanes[number].opensAt != nil { pump(number, &decision, at: now) }
        return decision
    }
}
