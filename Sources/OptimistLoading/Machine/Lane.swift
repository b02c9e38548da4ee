// This source file is part of the Optimist open source project, under the MIT licence.

/// The flights that share fetch slots. Only some of the slots are available to keys that are not on screen.
struct Lane {
    let slots: Int
    let unseenSlots: Int
    let interval: Duration?
    let queues: [Int]
    /// The list of queued flights that another fetch of this loader waits for.
    let innerQueue: Int
    /// The group of its keys, or nil for the shared lane.
    var name: String?
    /// The number of its flights, including flights still in the disk lane.
    var flights = 0
    private(set) var running = 0
    private(set) var unseenRunning = 0
    /// How many running fetches wait for another fetch, and lend it their slots.
    var suspended = 0
    private(set) var opensAt: Duration?

    init(slots: Int, unseenSlots: Int, interval: Duration? = nil, queues: [Int], innerQueue: Int) {
        self.slots = slots
        self.unseenSlots = unseenSlots
        self.interval = interval
        self.queues = queues
        self.innerQueue = innerQueue
    }

    func queue(_ flight: Flight) -> Int { flight.waitingFetches > 0 ? innerQueue : queue(flight.priority) }

    func queue(_ priority: LoadPriority) -> Int { queues[priority.rawValue] }

    /// Whether a flight that another fetch waits for may begin. It uses lent slots: otherwise six fetches that each
    /// wait for another fetch would deadlock.
    var hasInnerRoom: Bool { running - suspended < slots }

    func hasRoom(for priority: LoadPriority) -> Bool {
        running < slots && (priority == .visible || unseenRunning < unseenSlots)
    }

    mutating func begin(_ priority: LoadPriority, at now: Duration) {
        running += 1
        if priority != .visible { unseenRunning += 1 }
        opensAt = interval.map { now + $0 }
    }

    mutating func end(_ flight: Flight) {
        running -= 1
        if flight.priority != .visible { unseenRunning -= 1 }
        if flight.asking > 0 { suspended -= 1 }
    }

    mutating func change(from former: LoadPriority, to priority: LoadPriority) {
        if former == .visible, priority != .visible { unseenRunning += 1 }
        if former != .visible, priority == .visible { unseenRunning -= 1 }
    }
}
