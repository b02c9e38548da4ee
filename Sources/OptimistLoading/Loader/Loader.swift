// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore

/// A cache that loads each value from its source once, and keeps the values that are likely to be needed again.
///
/// A caller that requests a key while it is being fetched joins that fetch. The fetch gets the priority of its most
/// urgent caller, and stops when its last caller has left. Any thread may use the loader. Use one key for each distinct
/// value: for a picture, its URL and size.
///
/// > Important: While the loader holds its lock, it hashes, compares and releases keys, and reads the clock of the
/// > dependencies: none of these may call the loader. The loader calls closures, and releases values and errors,
/// > without the lock.
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

    /// Creates an empty loader.
    ///
    /// - Parameters:
    ///   - limits: Concurrency and memory limits.
    ///   - disk: Keeps values between launches. Default: none.
    ///   - group: Names the group of keys that share fetch slots, such as the host they are fetched from. Default: all
    ///     keys share the same slots.
    ///   - cost: The size of a value in memory, in bytes. Called once for each fetched value. Negative costs count as
    ///     zero. Default: 1.
    ///   - failureTTL: How long callers get the error of a failed fetch before the key is fetched again. A caller with
    ///     ``Freshness/fresh``, or a user's retry, starts a fetch nevertheless. Return nil for timeouts and when the
    ///     device is offline. Default: nil, no pause.
    ///   - dependencies: The clock and tasks.
    ///   - fetch: Loads a value from its source, in a new task that is cancelled when the last caller has left. At most
    ///     one fetch runs for each key. If a fetch is cancelled or its key is removed, a new fetch may start before the
    ///     old one has finished. The closure may request other keys from this loader with
    ///     ``value(for:priority:freshness:)``: while the closure waits, its fetch lends its slot to the other fetch,
    ///     beyond the limits. If a fetch would wait for itself, directly or through other fetches, the request throws
    ///     an error with code `fetchWaitsForItself`. The loader detects this in the fetch's task and its child tasks,
    ///     not in detached tasks.
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

    // MARK: - Requests

    /// Returns the value in memory, expired or not, without asking the source.
    @inlinable
    public func cached(_ key: Key) -> Value? { state.withLock { $0.cached(key, isFresh: false) { elapsed() } } }

    /// Whether a caller's value has expired, is a seed, or was dropped from memory and is being fetched.
    package func isExpired(_ key: Key) -> Bool {
        let now = elapsed()
        return state.withLock { state in state.places[key].map { state.machine.isToBeReplaced($0, at: now) } ?? false }
    }

    /// Requests a value for as long as the subscription is held.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - priority: How soon the value is needed. Default: it is on screen.
    ///   - freshness: Whether a cached value is good enough. Default: if it has not expired.
    ///   - receive: Called with each event, one at a time, on any thread. Events that are already known are delivered
    ///     before this function returns. While the closure runs, the loader keeps only the newest waiting event of each
    ///     kind, and a value replaces all waiting events. After the closure has received its value, it does not get
    ///     values that are later fetched for other callers.
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

    /// Returns a value, without suspending if a good enough one is in memory.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - priority: How soon the value is needed. Default: it is on screen.
    ///   - freshness: Whether a cached value is good enough. Default: if it has not expired. With
    ///     ``Freshness/cachedThenRefreshed``, an expired value is returned, and fetched again for the next caller.
    /// - Throws: The error of the fetch; `CancellationError` if the task is cancelled. The fetch continues for other
    ///   callers.
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

    // MARK: - Changes by the app

    /// Stores a value that was not fetched.
    ///
    /// The value replaces any result of a fetch that is already running. Callers that wait for the key get the value,
    /// and their fetch is cancelled. For callers that require a ``Freshness/fresh`` value, the fetch starts again. The
    /// value is encoded by the tier and written to the disk later; if the tier does not encode it, the disk's value for
    /// this key is removed. This function does not wait for the disk.
    ///
    /// A seed is a value that the source does not have yet, such as a picture that is still being uploaded. It stays
    /// until a fetch that starts later returns or confirms a value, until another value is stored, or until it is
    /// removed. Callers with ``Freshness/cachedThenRefreshed`` or ``Freshness/fresh`` start such a fetch. Callers with
    /// ``Freshness/cached`` get the seed until it expires. Seeds count against the limit on the number of values, not
    /// on bytes: beyond that limit, the oldest seed becomes an ordinary value. A seed is not written to the disk.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key of the value.
    ///   - validity: How long the value is valid, and how to revalidate it. Default: forever.
    ///   - isSeed: Whether it is a seed. Default: false.
    @inlinable
    public func store(_ value: Value, for key: Key, validity: Validity = Validity(), isSeed: Bool = false) {
        let now = elapsed()
        let arrival = self.arrival(value, key, validity, now)
        let (actions, replaced) = state.withLock { state in
            let replaced = isSeed ? nil : disk?.book(Fetched(value, validity: validity), value, arrival.cost, for: key)
            return (state.store(value, for: key, arrival, isSeed: isSeed, at: now), replaced)
        }
        _ = replaced  // Released here, without a lock.
        if !isSeed { disk?.write() }
        run(actions)
    }

    /// Removes a value from memory and disk. Blocks until the disk is done.
    ///
    /// Callers that wait for the value get the result of the running fetch. The next caller starts a new fetch.
    public func remove(_ key: Key) {
        let (actions, removal) = state.withLock { ($0.remove(key), disk?.bookRemoval(of: key)) }
        run(actions)
        if let removal { disk?.remove(key, noted: removal.number) }
    }

    /// Removes all values from memory and disk, and cancels all fetches. Blocks until the disk is done. Call it when the
    /// user signs out.
    ///
    /// Waiting callers get a `CancellationError`. The ``DiskCache`` is emptied, including the values of other tiers.
    /// Values that must stay need a separate cache.
    public func removeAll() {
        let (actions, replaced) = state.withLock {
            ($0.actions($0.machine.removeAll(CancellationError())), disk?.bookRemovalOfAll())
        }
        _ = replaced  // Released here, without a lock.
        run(actions)
        disk?.removeAll()
    }

    /// Frees memory. Values held by subscriptions are dropped last.
    ///
    /// - Parameter share: The share of the limits that may stay in use, from 0 to 1.
    public func trim(to share: Double) {
        let now = elapsed()
        run(state.withLock { $0.actions($0.machine.trim(to: share, at: now)) })
    }

    /// The activity of this loader since its creation.
    public var counts: LoaderCounts { state.withLock { $0.machine.counts } }

    func order(_ keys: [Key], at priority: LoadPriority) {
        state.withLock { state in state.machine.order(keys.compactMap { state.places[$0] }, at: priority) }
    }

    /// Returns the subscriptions whose fetch has failed, or whose value was dropped from memory.
    func heldInVain(_ tickets: [Key: LoadSubscription]) -> [Key: LoadSubscription] {
        state.withLock { state in tickets.filter { state.machine.isHeldInVain($0.value.id) } }
    }

    /// For tests.
    func inspect<Result: Sendable>(_ look: (State) -> Result) -> Result { state.withLock { look($0) } }

    // MARK: - Running the machine's actions

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
            _ = replaced  // Released here, without a lock.
            disk?.write()
            run(actions)
        } catch {
            let (pause, now) = (error is CancellationError ? nil : self.pause(error), elapsed())
            run(state.withLock { $0.actions($0.machine.failed(error, pause: pause, of: id, at: now)) })
        }
    }

    /// Runs a fetch. Requests made in its task count as requests by this fetch.
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
