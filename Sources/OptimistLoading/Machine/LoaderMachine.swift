// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides everything a loader decides. Each event returns what to do next; nothing here waits, fetches or calls
/// anybody.
///
/// Keys and values are not known here: a key is the number of its place. So this is compiled once, for all kinds of
/// them.
@usableFromInline
struct LoaderMachine: Sendable {
    /// The data of a value in memory.
    struct Kept {
        var validity: Validity
        /// When it expires, by the loader's clock. Nil: never.
        var expiresAt: Duration?

        func isFresh(at now: Duration) -> Bool { expiresAt.map { now < $0 } ?? true }
    }

    /// An error that all callers get until a pause is over (C4).
    struct PausedFailure {
        let error: any Error
        let until: Duration
    }

    let hasDisk: Bool
    let limits: LoaderLimits
    var memory: MemoryQueue
    /// By place.
    var kept: [Kept?] = []
    var flights: [Flight?] = []
    var tasks: [Task<Void, Never>?] = []
    /// Those who wait for each flight, in the order they came.
    var waiters = Lists(0)
    var holders = Slab<Holder>()
    var lanes: [Lane] = []
    private var lanesByName: [String: Int] = [:]
    /// The named ones that no flight belongs to, for the longest time first.
    private var idleLanes = Lists(1)
    /// Flights that wait for a slot, or linger.
    var lists = Lists(1)
    /// The number of the list of those that linger.
    var lingeringList: Int { 0 }
    var failures: [Int: PausedFailure] = [:]
    @usableFromInline var counts = LoaderCounts()
    /// How many batches are open. While there is one, no flight begins.
    private var batches = 0
    /// While it is true, no fetch begins.
    private var isSuspended = false
    /// The lanes to look at when the last batch ends.
    private var postponed: Set<Int> = []
    private var lastSerial = 0
    private var lastVersion = 0

    /// Where the disk is read: so many at once.
    static let diskLane = 0
    private static let readsAtOnce = 4

    init(_ limits: LoaderLimits, hasDisk: Bool) {
        self.limits = limits
        self.hasDisk = hasDisk
        memory = MemoryQueue(limits.memory)
        let queues = LoadPriority.allCases.map { _ in lists.addList() }
        lanes = [
            Lane(
                slots: Self.readsAtOnce, unseenSlots: Self.readsAtOnce - 1, queues: queues, innerQueue: lists.addList())
        ]
        _ = addLane()
    }

    /// Makes room for the data of a place.
    mutating func grow(to place: Int) {
        while flights.count <= place {
            flights.append(nil)
            tasks.append(nil)
            kept.append(nil)
            _ = waiters.addList()
        }
    }

    /// Returns the number of a lane. Nil: that of keys which name none.
    ///
    /// A new name gets a lane in which nothing is left to be done, if there is one.
    mutating func lane(named name: String?, at now: Duration) -> Int {
        guard let name else { return Self.diskLane + 1 }
        if let known = lanesByName[name] { return known }
        let lane = idleLane(at: now) ?? addLane()
        lanesByName[name] = lane
        lanes[lane].name = name
        return lane
    }

    private mutating func idleLane(at now: Duration) -> Int? {
        guard let lane = idleLanes.first(of: 0), lanes[lane].opensAt.map({ $0 <= now }) ?? true else { return nil }
        if let name = lanes[lane].name { lanesByName[name] = nil }
        return lane
    }

    private mutating func addLane() -> Int {
        let queues = LoadPriority.allCases.map { _ in lists.addList() }
        lanes.append(
            Lane(
                slots: limits.fetches, unseenSlots: limits.unseenFetches, interval: limits.interval, queues: queues,
                innerQueue: lists.addList()))
        return lanes.count - 1
    }

    /// A flight belongs to a lane from now on.
    mutating func occupy(_ lane: Int) {
        lanes[lane].flights += 1
        idleLanes.remove(lane)
    }

    /// A flight that belonged to a lane has ended.
    mutating func vacate(_ lane: Int) {
        lanes[lane].flights -= 1
        if lanes[lane].flights == 0, lanes[lane].name != nil { idleLanes.append(lane, to: 0) }
    }

    // MARK: - Batches

    /// Begins a batch: until it ends, flights only queue, move and leave.
    @usableFromInline
    mutating func beginBatch() { batches += 1 }

    /// Ends a batch. If it was the last one, what there is room for begins now.
    @usableFromInline
    mutating func endBatch(at now: Duration) -> Decision {
        var decision = Decision()
        batches -= 1
        pumpPostponed(&decision, at: now)
        return decision
    }

    /// Looks at the lanes that wait, unless a batch is still open.
    private mutating func pumpPostponed(_ decision: inout Decision, at now: Duration) {
        guard batches == 0 else { return }
        let lanes = postponed.sorted()
        postponed = []
        for lane in lanes { pump(lane, &decision, at: now) }
    }

    /// Notes a lane, to look at when the batch ends or the fetches resume. Returns false if the caller looks at it now.
    mutating func postpone(_ lane: Int) -> Bool {
        let waits = batches > 0 || isSuspended && lane != Self.diskLane
        if waits { postponed.insert(lane) }
        return waits
    }

    mutating func suspend() { isSuspended = true }

    mutating func resume(at now: Duration) -> Decision {
        var decision = Decision()
        isSuspended = false
        pumpPostponed(&decision, at: now)
        return decision
    }

    // MARK: - Numbers

    mutating func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    @usableFromInline
    mutating func nextVersion() -> Int {
        lastVersion += 1
        return lastVersion
    }

    /// Whether nothing is known of a place, so that it can be given to another key.
    @usableFromInline
    func isIdle(_ place: Int) -> Bool {
        kept[place] == nil && flights[place] == nil && failures[place] == nil
    }

    @usableFromInline
    func hasValue(_ place: Int) -> Bool { kept[place] != nil }

    /// Whether a value that a holder has must be replaced.
    @usableFromInline
    func isToBeReplaced(_ place: Int, at now: Duration) -> Bool {
        guard let kept = kept[place] else { return isFlying(place) }
        return memory.isSeed(place) || !kept.isFresh(at: now)
    }

    @usableFromInline
    func isFlying(_ place: Int) -> Bool { flights[place] != nil }

    func flight(_ id: FlightID) -> Flight? { flights[id.place].flatMap { $0.serial == id.serial ? $0 : nil } }

    /// Tells all who wait for a flight.
    mutating func tellAll(_ news: Decision.News, _ place: Int, _ decision: inout Decision) {
        forEachWaiting(place) { $0.tell(news, $1, &decision) }
    }

    /// Tells one holder.
    mutating func tell(_ news: Decision.News, _ holder: Int, _ decision: inout Decision) {
        decision.actions.append(.tell(news, holder, version: nextVersion()))
    }

    /// - Parameter visit: May take the holder from among those who wait.
    mutating func forEachWaiting(_ place: Int, _ visit: (inout Self, _ holder: Int) -> Void) {
        var next = waiters.first(of: place)
        while let holder = next {
            next = waiters.next(after: holder)
            visit(&self, holder)
        }
    }

    /// Forgets the data of some released values.
    mutating func forget(_ released: MemoryQueue.Released, _ decision: inout Decision) {
        counts.unseenBytes += released.unseenBytes
        for place in released.places { kept[place] = nil }
        decision.touched += released.places
    }
}
