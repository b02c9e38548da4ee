// This source file is part of the Optimist open source project, under the MIT licence.

/// Makes all decisions of a loader. Each event returns the actions to run. The machine itself never waits, fetches or
/// calls out.
///
/// It knows keys only by their index, called place. Therefore it is not generic, and is compiled once.
@usableFromInline
struct LoaderMachine: Sendable {
    struct Kept {
        var validity: Validity
        /// By the loader's clock. Nil: never.
        var expiresAt: Duration?

        func isFresh(at now: Duration) -> Bool { expiresAt.map { now < $0 } ?? true }
    }

    /// An error that callers get until a pause ends.
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
    /// The holders that wait for each flight, in the order of arrival.
    var waiters = Lists(0)
    var holders = Slab<Holder>()
    var lanes: [Lane] = []
    private var lanesByName: [String: Int] = [:]
    /// Named lanes without flights, longest idle first.
    private var idleLanes = Lists(1)
    /// Flights that queue for a slot, or linger.
    var lists = Lists(1)
    var lingeringList: Int { 0 }
    var failures: [Int: PausedFailure] = [:]
    @usableFromInline var counts = LoaderCounts()
    /// While a batch is open, no flight begins.
    private var batches = 0
    /// While true, no fetch begins.
    private var isSuspended = false
    private var postponed: Set<Int> = []
    private var lastSerial = 0
    private var lastVersion = 0

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

    mutating func grow(to place: Int) {
        while flights.count <= place {
            flights.append(nil)
            tasks.append(nil)
            kept.append(nil)
            _ = waiters.addList()
        }
    }

    /// Returns the number of a lane, which is the shared lane if the name is nil.
    ///
    /// A new name reuses an idle lane if possible.
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

    mutating func occupy(_ lane: Int) {
        lanes[lane].flights += 1
        idleLanes.remove(lane)
    }

    mutating func vacate(_ lane: Int) {
        lanes[lane].flights -= 1
        if lanes[lane].flights == 0, lanes[lane].name != nil { idleLanes.append(lane, to: 0) }
    }

    // MARK: - Batches

    /// Until the batch ends, flights may queue, move and leave, but not begin.
    @usableFromInline
    mutating func beginBatch() { batches += 1 }

    @usableFromInline
    mutating func endBatch(at now: Duration) -> Decision {
        var decision = Decision()
        batches -= 1
        pumpPostponed(&decision, at: now)
        return decision
    }

    private mutating func pumpPostponed(_ decision: inout Decision, at now: Duration) {
        guard batches == 0 else { return }
        let lanes = postponed.sorted()
        postponed = []
        for lane in lanes { pump(lane, &decision, at: now) }
    }

    /// Postpones a lane during a batch or suspension. Returns false if the caller should pump it now.
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

    // MARK: - Serial numbers and versions

    mutating func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    @usableFromInline
    mutating func nextVersion() -> Int {
        lastVersion += 1
        return lastVersion
    }

    @usableFromInline
    func isIdle(_ place: Int) -> Bool {
        kept[place] == nil && flights[place] == nil && failures[place] == nil
    }

    @usableFromInline
    func hasValue(_ place: Int) -> Bool { kept[place] != nil }

    @usableFromInline
    func isToBeReplaced(_ place: Int, at now: Duration) -> Bool {
        guard let kept = kept[place] else { return isFlying(place) }
        return memory.isSeed(place) || !kept.isFresh(at: now)
    }

    @usableFromInline
    func isFlying(_ place: Int) -> Bool { flights[place] != nil }

    func flight(_ id: FlightID) -> Flight? { flights[id.place].flatMap { $0.serial == id.serial ? $0 : nil } }

    mutating func tellAll(_ news: Decision.News, _ place: Int, _ decision: inout Decision) {
        forEachWaiting(place) { $0.tell(news, $1, &decision) }
    }

    mutating func tell(_ news: Decision.News, _ holder: Int, _ decision: inout Decision) {
        decision.actions.append(.tell(news, holder, version: nextVersion()))
    }

    /// - Parameter visit: May remove the holder from the list.
    mutating func forEachWaiting(_ place: Int, _ visit: (inout Self, _ holder: Int) -> Void) {
        var next = waiters.first(of: place)
        while let holder = next {
            next = waiters.next(after: holder)
            visit(&self, holder)
        }
    }

    mutating func forget(_ released: MemoryQueue.Released, _ decision: inout Decision) {
        counts.unseenBytes += released.unseenBytes
        for place in released.places { kept[place] = nil }
        decision.touched += released.places
    }
}
