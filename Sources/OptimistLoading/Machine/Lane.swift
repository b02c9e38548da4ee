// This source file is part of the Optimist open source project, under the MIT licence.

/// The flights that share some slots. Only a part of the slots is for keys that are not on screen (C8).
struct Lane {
    let slots: Int
    let unseenSlots: Int
    let interval: Duration?
    /// The lists of those that wait, by priority.
    let queues: [Int]
    /// The list of those that wait and that a fetch of this loader waits for.
    let innerQueue: Int
    /// What its keys call it. Nil: they do not.
    var name: String?
    /// How many belong to it: those that wait for the disk first, those that wait for a slot, and those that have one.
    var flights = 0
    private(set) var running = 0
    private(set) var unseenRunning = 0
    /// How many of those that run wait for a fetch themselves, and leave their slots to such fetches meanwhile.
    var suspended = 0
    /// No flight begins before that time.
    private(set) var opensAt: Duration?

    init(slots: Int, unseenSlots: Int, interval: Duration? = nil, queues: [Int], innerQueue: Int) {
        self.slots = slots
        self.unseenSlots = unseenSlots
        self.interval = interval
        self.queues = queues
        self.innerQueue = innerQueue
    }

    /// The list in which a flight waits.
    func queue(_ flight: Flight) -> Int { flight.waitingFetches > 0 ? innerQueue : queue(flight.priority) }

    func queue(_ priority: LoadPriority) -> Int { queues[priority.rawValue] }

    /// Whether a flight may begin that a fetch waits for. Otherwise six fetches that each wait for another one would wait
    /// for ever.
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
