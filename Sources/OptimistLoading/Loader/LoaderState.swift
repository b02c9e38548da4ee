// This source file is part of the Optimist open source project, under the MIT licence.

/// The keys and values of a loader, stored at the places that its machine refers to.
///
/// Only this part is generic. It is inlinable, so that the app's compiler can specialize it for concrete types.
@usableFromInline
struct LoaderState<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline let key: Key
        @usableFromInline var value: Value?
        @usableFromInline var partial: Value?

        @inlinable init(key: Key) { self.key = key }
    }

    @usableFromInline
    enum Action: Sendable {
        case read(FlightID, Key)
        case fetch(FlightID, Key, Validity?, former: Value?)
        case cancel(Task<Void, Never>)
        case tell(LoadEvent<Value>, Subscriber<Value>, version: Int)
        case wake(at: Duration)
        case release(Value)
        case releaseErrors([any Error])
    }

    @usableFromInline var machine: LoaderMachine
    @usableFromInline var places: [Key: Int] = [:]
    @usableFromInline var slots = Slab<Slot>()
    @usableFromInline var subscribers: [Subscriber<Value>?] = []

    @inlinable init(_ machine: LoaderMachine) { self.machine = machine }

    // MARK: - Places

    @inlinable
    mutating func place(of key: Key) -> Int {
        if let known = places[key] { return known }
        let place = slots.insert(Slot(key: key))
        places[key] = place
        return place
    }

    @inlinable
    mutating func tidy(_ touched: [Int], _ actions: inout [Action]) {
        for place in touched {
            guard let slot = slots[place] else { continue }
            if !machine.hasValue(place), let value = slot.value {
                actions.append(.release(value))
                slots[place]?.value = nil
            }
            if !machine.isFlying(place), let partial = slot.partial {
                actions.append(.release(partial))
                slots[place]?.partial = nil
            }
            guard machine.isIdle(place) else { continue }
            if places[slot.key] == place { places[slot.key] = nil }
            slots.remove(place)
        }
    }

    // MARK: - Events

    @inlinable
    mutating func cached(_ key: Key, isFresh: Bool, _ now: () -> Duration) -> Value? {
        guard let place = places[key], machine.use(place, isFresh: isFresh, now) else { return nil }
        return slots[place]?.value
    }

    @inlinable
    mutating func subscribe(
        _ key: Key, _ priority: LoadPriority, _ freshness: Freshness, _ manner: AskingManner, lane: String?,
        _ subscriber: Subscriber<Value>, at now: Duration
    ) -> (id: HolderID, told: [(event: LoadEvent<Value>, version: Int)], actions: [Action]) {
        let place = place(of: key)
        let (id, news, decision) = machine.subscribe(
            place, priority, freshness, manner, lane: lane, at: now)
        while subscribers.count <= id.place { subscribers.append(nil) }
        subscribers[id.place] = subscriber
        var told: [(event: LoadEvent<Value>, version: Int)] = []
        for item in news {
            if let event = event(item, at: place, nil) { told.append((event, machine.nextVersion())) }
        }
        return (id, told, actions(decision))
    }

    @inlinable
    mutating func leave(_ id: HolderID, at now: Duration) -> [Action] {
        let actions = actions(machine.leave(id, at: now))
        subscribers[id.place] = nil
        return actions
    }

    @inlinable
    mutating func show(_ partial: Value, of id: FlightID) -> [Action] {
        guard let decision = machine.show(id) else { return [.release(partial)] }
        let former = slots[id.place]?.partial
        slots[id.place]?.partial = partial
        var actions = actions(decision, at: id.place)
        if let former { actions.append(.release(former)) }
        return actions
    }

    @inlinable
    mutating func read(
        _ value: Value?, _ arrival: LoaderMachine.Arrival?, of id: FlightID, at now: Duration
    ) -> [Action] {
        guard let decision = machine.read(arrival, of: id, at: now) else { return value.map { [.release($0)] } ?? [] }
        return take(value, decision, at: id.place)
    }

    /// - Returns: The actions, and whether the value is kept.
    @inlinable
    mutating func fetched(
        _ value: Value, _ arrival: LoaderMachine.Arrival, isUnchanged: Bool, of id: FlightID, at now: Duration
    ) -> (isKept: Bool, actions: [Action]) {
        guard let (isKept, decision) = machine.fetched(arrival, isUnchanged: isUnchanged, of: id, at: now) else {
            return (false, [.release(value)])
        }
        return (isKept, take(value, decision, at: id.place))
    }

    @inlinable
    mutating func store(
        _ value: Value, for key: Key, _ arrival: LoaderMachine.Arrival, isSeed: Bool, at now: Duration
    ) -> [Action] {
        let place = place(of: key)
        return take(value, machine.store(arrival, place, isSeed: isSeed, at: now), at: place)
    }

    /// The next request for this key gets a new place.
    @inlinable
    mutating func remove(_ key: Key) -> [Action] {
        guard let place = places.removeValue(forKey: key) else { return [] }
        return actions(machine.remove(place))
    }

    // MARK: - Carrying out decisions

    /// Stores a value if the machine keeps it, and collects the events for its holders.
    @inlinable
    mutating func take(_ value: Value?, _ decision: Decision, at place: Int) -> [Action] {
        guard let value else { return actions(decision) }
        let former = slots[place]?.value
        if machine.hasValue(place) { slots[place]?.value = value }
        var actions = actions(decision, at: place, value)
        if let former { actions.append(.release(former)) }
        return actions
    }

    @inlinable
    mutating func actions(_ decision: Decision, at place: Int? = nil, _ value: Value? = nil) -> [Action] {
        if decision.actions.isEmpty, decision.touched.isEmpty, decision.released.isEmpty { return [] }
        var actions: [Action] = []
        actions.reserveCapacity(decision.actions.count)
        for action in decision.actions {
            switch action {
            case .read(let id):
                if let key = slots[id.place]?.key { actions.append(.read(id, key)) }
            case .fetch(let id, let validity):
                guard let key = slots[id.place]?.key else { continue }
                let former = validity == nil ? nil : slots[id.place]?.value
                actions.append(.fetch(id, key, former == nil ? nil : validity, former: former))
            case .cancel(let task): actions.append(.cancel(task))
            case .tell(let news, let holder, let version):
                guard let event = event(news, at: place, value), let subscriber = subscribers[holder] else { continue }
                actions.append(.tell(event, subscriber, version: version))
            case .wake(let time): actions.append(.wake(at: time))
            }
        }
        tidy(decision.touched, &actions)
        if !decision.released.isEmpty { actions.append(.releaseErrors(decision.released)) }
        return actions
    }

    @inlinable
    func event(_ news: Decision.News, at place: Int?, _ value: Value?) -> LoadEvent<Value>? {
        switch news {
        case .progress(let progress): .progress(progress)
        case .partial: place.flatMap { slots[$0]?.partial }.map { .partial($0) }
        case .value(let origin): (value ?? place.flatMap { slots[$0]?.value }).map { .value($0, origin) }
        case .failure(let error): .failure(error)
        }
    }
}
