// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore

/// Gets values by their keys, each from its source once, and keeps what is likely to be asked for again.
///
/// A caller that asks for a key that is being fetched joins that fetch, which becomes as urgent as its most urgent caller
/// needs. A fetch stops when its last caller has left. Any thread may call. Where two keys mean the same, let one stand for
/// both: a picture is named by its URL and its size, say.
///
/// > Important: Keys are hashed, compared and let go of, and the clock of the dependencies is read, under the loader's
/// > lock: none of that may call it. Closures are called, and values and errors let go of, without it.
///
/// ```swift
/// let pictures = Loader<URL, Picture>(cost: \.sizeBytes) { fetch in
///     try await Fetched(Picture(from: fetch.key))
/// }
/// let ticket = pictures.subscribe(url) { event in … }
/// ```
public final class Loader<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias State = LoaderState<Key, Value>

    @usableFromInline let state: Mutex<State>
    @usableFromInline let cost: @Sendable (Value) -> Int
    @usableFromInline let lane: (@Sendable (Key) -> String)?
    @usableFromInline let pause: @Sendable (any Error) -> Duration?
    @usableFromInline let fetch: @Sendable (Fetch<Key, Value>) async throws -> Fetched<Value>
    @usableFromInline let disk: DiskTier<Key, Value>?
    @usableFromInline let dependencies: Dependencies
    @usableFromInline let elapsed: Stopwatch
    @usableFromInline let alarm = Mutex<Duration?>(nil)

    /// - Parameters:
    ///   - limits: How much is done at a time and kept in memory.
    ///   - disk: Where values are kept between launches. Default: nowhere.
    ///   - group: Names what a key shares its slots with, such as the host it is fetched from. Default: all keys share
    ///     them.
    ///   - cost: How many bytes a value takes in memory. Called once for each that is fetched. Less than none counts as
    ///     none. Default: one.
    ///   - failureTTL: How long callers get the error with which a key's fetch ended, before it is tried again. A caller that
    ///     asks with ``Freshness/fresh``, and a person's retry, ask the source all the same. Never give one for being
    ///     offline or for what took too long. Default: none.
    ///   - dependencies: Time and tasks.
    ///   - fetch: Gets a value from its source, in a task of its own, which is cancelled when the last caller has left.
    ///     There is one at a time for each key, beside those that were given up, or whose key was removed, and still run.
    ///     It may ask this loader for other keys by ``value(for:priority:freshness:)``: while it waits, its slot is lent to
    ///     what it waits for, beyond the limits. If two fetches would wait for each other, or one for itself, the last
    ///     caller gets an error with code `fetchWaitsForItself`. That is known of a fetch's own task and the tasks that it
    ///     makes, not of detached ones.
    public init(
        limits: LoaderLimits = LoaderLimits(), disk: DiskTier<Key, Value>? = nil,
        group: (@Sendable (Key) -> String)? = nil, cost: @escaping @Sendable (Value) -> Int = { _ in 1 },
        failureTTL: @escaping @Sendable (any Error) -> Duration? = { _ in nil },
        dependencies: Dependencies = Dependencies(),
        fetch: @escaping @Sendable (Fetch<Key, Value>) async throws -> Fetched<Value>
    ) {
        state = Mutex(State(LoaderMachine(limits, hasDisk: disk != nil)))
        self.cost = cost
        lane = group
        pause = failureTTL
        self.fetch = fetch
        self.disk = disk
        self.dependencies = dependencies
        elapsed = Stopwatch(dependencies.clock)
    }

    // MARK: - Asking

    /// The value that is in memory, expired or not. Returns at once, without asking the source.
    @inlinable
    public func cached(_ key: Key) -> Value? { state.withLock { $0.cached(key, isFresh: false) { elapsed() } } }

    /// Whether a value that a caller has should be replaced: it has expired, it is a seed, or it is not kept in memory and
    /// being fetched.
    package func isExpired(_ key: Key) -> Bool {
        let now = elapsed()
        return state.withLock { state in state.places[key].map { state.machine.isToBeReplaced($0, at: now) } ?? false }
    }

    /// Wants a value, as long as the ticket is held.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - priority: How soon. Default: it is on the screen.
    ///   - freshness: Whether a value that is here already is good enough. Default: if it has not expired.
    ///   - receive: Called with each event, one after the other, on any thread. Events that are known already come before
    ///     this function returns. While it is busy only the newest event of each kind is kept, and a value replaces all
    ///     others. After the value it gets no other that is fetched for another caller later.
    @inlinable
    public func subscribe(
        _ key: Key, priority: LoadPriority = .visible, freshness: Freshness = .cached,
        receive: @escaping @Sendable (LoadEvent<Value>) -> Void
    ) -> LoadSubscription {
        subscribe(key, priority, freshness, AskingManner(), receive)
    }

    @inlinable
    func subscribe(
        _ key: Key, _ priority: LoadPriority, _ freshness: Freshness, _ manner: AskingManner,
        _ receive: @escaping @Sendable (LoadEvent<Value>) -> Void
    ) -> LoadSubscription {
        let subscriber = Subscriber(receive)
        let (lane, now) = (self.lane?(key), elapsed())
        let (id, told, actions) = state.withLock {
            $0.subscribe(key, priority, freshness, manner, lane: lane, subscriber, at: now)
        }
        for (event, version) in told { subscriber.tell(event, version: version) }
        run(actions)
        return LoadSubscription(id) { self.change($0, to: $1, subscriber) }
    }

    /// Gets a value: at once, without suspending, if it is in memory and good enough.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - priority: How soon it is needed. Default: it is on the screen.
    ///   - freshness: Whether a value that is here already is good enough. Default: if it has not expired. With
    ///     ``Freshness/cachedThenRefreshed`` an expired one is returned, and fetched again for the next caller.
    /// - Throws: The error that the fetch threw; `CancellationError` if the task is cancelled. The fetch goes on for
    ///   other callers who want the value.
    @inlinable
    public func value(
        for key: Key, priority: LoadPriority = .visible, freshness: Freshness = .cached
    ) async throws -> Value {
        if freshness == .cached, let value = state.withLock({ $0.cached(key, isFresh: true) { elapsed() } }) {
            return value
        }
        return try await awaited(key, priority, freshness)
    }

    @usableFromInline
    func awaited(_ key: Key, _ priority: LoadPriority, _ freshness: Freshness) async throws -> Value {
        let waiter = Waiter<Value>()
        let manner = AskingManner(
            outlives: freshness == .cachedThenRefreshed, asker: AskingFetch.flight(of: self))
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard waiter.wait(continuation) else { return }
                waiter.keep(
                    subscribe(key, priority, freshness, manner) { event in
                        switch event {
                        case .value(let value, _): waiter.end(.success(value))
                        case .failure(let error): waiter.end(.failure(error))
                        case .progress, .partial: break
                        }
                    })
            }
        } onCancel: {
            waiter.end(.failure(CancellationError()))
        }
    }

    /// The holder of a ticket needs its value at another time, or wants it no more.
    @inlinable
    func change(_ id: HolderID, to priority: LoadPriority?, _ subscriber: Subscriber<Value>) {
        let now = elapsed()
        if let priority {
            run(state.withLock { $0.actions($0.machine.change(id, to: priority, at: now)) })
        } else {
            subscriber.close()
            run(state.withLock { $0.leave(id, at: now) })
        }
    }

    // MARK: - By the app's word

    /// Puts a value here that did not come by a fetch.
    ///
    /// It is the newest: no fetch that has begun by now undoes it. Callers that wait for the key get it, and their fetch is
    /// cancelled. For callers that want a ``Freshness/fresh`` value the fetch begins again. The disk soon has it too, as
    /// the tier encodes it, and otherwise nothing under this key. Returns without waiting for that.
    ///
    /// A seed is what the source does not have yet, such as a picture that is still being uploaded. It is shown until a
    /// fetch that begins later brings or confirms the key's value, or until another is stored or it is removed. Such a
    /// fetch begins for callers that ask with ``Freshness/cachedThenRefreshed`` or ``Freshness/fresh``. Callers that ask
    /// with ``Freshness/cached`` get the seed until it expires. Seeds count against the memory's limit of values, not of
    /// bytes: if there are more seeds, the oldest becomes a value like others. The disk stays as it is.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key under which callers find it.
    ///   - validity: How long it is right, and what to ask the source with when that is over. Default: for ever.
    ///   - isSeed: Whether it is a seed. Default: no.
    @inlinable
    public func store(_ value: Value, for key: Key, validity: Validity = Validity(), isSeed: Bool = false) {
        let now = elapsed()
        let arrival = self.arrival(value, key, validity, now)
        let (actions, replaced) = state.withLock { state in
            let replaced = isSeed ? nil : disk?.book(Fetched(value, validity: validity), value, arrival.cost, for: key)
            return (state.store(value, for: key, arrival, isSeed: isSeed, at: now), replaced)
        }
        _ = replaced  // Released here, where no lock is held.
        if !isSeed { disk?.write() }
        run(actions)
    }

    /// Forgets a value, on the disk too, for which it waits. Callers that wait for the value get what comes. The next
    /// caller starts a new fetch.
    public func remove(_ key: Key) {
        let (actions, removal) = state.withLock { ($0.remove(key), disk?.bookRemoval(of: key)) }
        run(actions)
        if let removal { disk?.remove(key, noted: removal.number) }
    }

    /// Forgets everything, on the disk too, for which it waits, and cancels the fetches under way: waiting callers get a
    /// `CancellationError`. For signing out (C10).
    ///
    /// The whole ``DiskCache`` is emptied, including the values of other tiers. Values that must stay need a cache of their
    /// own.
    public func removeAll() {
        let (actions, replaced) = state.withLock {
            ($0.actions($0.machine.removeAll(CancellationError())), disk?.bookRemovalOfAll())
        }
        _ = replaced  // Released here, where no lock is held.
        run(actions)
        disk?.removeAll()
    }

    /// Makes room in memory: what is held on to goes last.
    ///
    /// - Parameter share: How much of the limits may stay, from 0 to 1.
    public func trim(to share: Double) {
        let now = elapsed()
        run(state.withLock { $0.actions($0.machine.trim(to: share, at: now)) })
    }

    /// What this loader has done since it was made.
    public var counts: LoaderCounts { state.withLock { $0.machine.counts } }

    func order(_ keys: [Key], at priority: LoadPriority) {
        state.withLock { state in state.machine.order(keys.compactMap { state.places[$0] }, at: priority) }
    }

    /// Returns the tickets whose value is neither here nor on its way, although it was, or whose holders were told of a
    /// failure.
    func heldInVain(_ tickets: [Key: LoadSubscription]) -> [Key: LoadSubscription] {
        state.withLock { state in tickets.filter { state.machine.isHeldInVain($0.value.id) } }
    }

    /// Hands the machine to a test.
    func inspect<Result: Sendable>(_ look: (State) -> Result) -> Result { state.withLock { look($0) } }

    // MARK: - Doing what the machine says

    @inlinable
    func run(_ actions: [State.Action]) {
        // Start the work first, so that a slow subscriber cannot delay it.
        for action in actions { begin(action) }
        for case .tell(let event, let subscriber, let version) in actions { subscriber.tell(event, version: version) }
    }

    @inlinable
    func begin(_ action: State.Action) {
        switch action {
        case .read(let id, let key): keep(dependencies.spawn { await self.read(key, id) }, of: id)
        case .fetch(let id, let key, let validity, let former):
            keep(dependencies.spawn { await self.fetch(key, validity, former, id) }, of: id)
        case .cancel(let task): task.cancel()
        case .wake(let time): wake(at: time)
        case .tell, .release, .releaseErrors: break
        }
    }

    @inlinable
    func keep(_ task: Task<Void, Never>, of id: FlightID) {
        if !state.withLock({ $0.machine.keep(task, of: id) }) { task.cancel() }
    }

    @usableFromInline
    func read(_ key: Key, _ id: FlightID) async {
        let found = await disk?.value(for: key)
        let now = elapsed()
        let arrival = found.map { self.arrival($0.value, key, $0.validity, now) }
        run(state.withLock { $0.read(found?.value, arrival, of: id, at: now) })
    }

    @inlinable
    func fetch(_ key: Key, _ validity: Validity?, _ former: Value?, _ id: FlightID) async {
        let request = Fetch<Key, Value>(key: key, previous: validity) { report in
            let actions = self.state.withLock { state in
                switch report {
                case .progress(let progress): state.actions(state.machine.report(progress, of: id))
                case .partial(let value): state.show(value, of: id)
                }
            }
            self.run(actions)
        }
        do {
            let fetched = try await asking(id) { try await fetch(request) }
            guard let value = fetched.value ?? former else { throw OptimistError.nothingToKeep }
            let (now, isUnchanged) = (elapsed(), fetched.value == nil)
            let known = isUnchanged ? fetched.validity.confirming(validity) : fetched.validity
            let arrival = self.arrival(value, key, known, now)
            let (actions, replaced) = state.withLock { state in
                let (isKept, actions) = state.fetched(value, arrival, isUnchanged: isUnchanged, of: id, at: now)
                return (actions, isKept ? disk?.book(fetched, value, arrival.cost, former: validity, for: key) : nil)
            }
            _ = replaced  // Released here, where no lock is held.
            disk?.write()
            run(actions)
        } catch {
            let (pause, now) = (error is CancellationError ? nil : self.pause(error), elapsed())
            run(state.withLock { $0.actions($0.machine.failed(error, pause: pause, of: id, at: now)) })
        }
    }

    /// Runs a fetch, so that what it asks of this loader is known to be asked by it.
    @usableFromInline
    func asking(
        _ id: FlightID, _ fetch: () async throws -> Fetched<Value>
    ) async throws -> Fetched<Value> {
        try await AskingFetch.$current.withValue(AskingFetch(of: self, id)) { try await fetch() }
    }

    @inlinable
    func arrival(_ value: Value, _ key: Key, _ validity: Validity, _ now: Duration) -> LoaderMachine.Arrival {
        LoaderMachine.Arrival(
            hash: key.hashValue, cost: max(cost(value), 0), validity: validity,
            expiresAt: validity.expiresAt.map { date in
                // A date that is not a number counts as expired.
                let seconds = date.timeIntervalSince(dependencies.now())
                return now + .seconds(seconds.isNaN ? 0 : min(max(seconds, -1e9), 1e9))
            })
    }

    @usableFromInline
    func wake(at time: Duration) {
        let isEarliest = alarm.withLock { alarm in
            let isEarliest = alarm.map { time < $0 } ?? true
            if isEarliest { alarm = time }
            return isEarliest
        }
        guard isEarliest else { return }
        let (clock, delay) = (dependencies.clock, time - elapsed())
        _ = dependencies.spawn { [weak self] in
            try? await clock.sleep(for: delay)
            self?.ring(time)
        }
    }

    private func ring(_ time: Duration) {
        alarm.withLock { if $0 == time { $0 = nil } }
        let now = elapsed()
        run(state.withLock { $0.actions($0.machine.tick(at: now)) })
    }
}
