// This source file is part of the Optimist open source project, under the MIT licence.

/// A fetch that some holder waits for, or has waited for until a moment ago. Numbers only, so that looking at one is
/// cheap.
struct Flight {
    enum Stage {
        case queuedToRead, reading, queuedToFetch, fetching

        var isUnderWay: Bool { self == .reading || self == .fetching }
    }

    /// Another one when it goes on from the disk to the source.
    var serial: Int
    let lane: Int
    var stage: Stage
    var priority: LoadPriority
    var waiting = Waiting()
    /// Whether no caller has looked at it so far.
    var isUnseen = true
    /// How many of those who wait want it from the source.
    var waitingForSource = 0
    /// How many of those who wait are fetches of this loader.
    var waitingFetches = 0
    /// How many other flights its own fetch waits for.
    var asking = 0
    /// Whether it goes on without a holder: a holder has an expired value, which is refreshed for the next one.
    var isOfItsOwn = false
    /// Whether `isOfItsOwn` becomes true once a holder has an expired value.
    var mayOutlive = false
    /// It was removed meanwhile: those who wait get it, and it is not kept.
    var isForgotten = false
    var progress: Double?
    var hasPartial = false
    var queuedAt: Duration
    /// When it is cancelled, because it has no holder left.
    var lingersUntil: Duration?

    /// Whether a holder wants it from the source.
    var mustFetch: Bool { waitingForSource > 0 }

    /// A holder waits for it from now on.
    mutating func join(_ holder: Holder) {
        waiting[holder.priority] += 1
        if holder.freshness == .fresh { waitingForSource += 1 }
        if holder.asker != nil { waitingFetches += 1 }
    }

    /// A holder no longer waits for it.
    mutating func leave(_ holder: Holder) {
        waiting[holder.priority] -= 1
        if holder.freshness == .fresh { waitingForSource -= 1 }
        if holder.asker != nil { waitingFetches -= 1 }
    }

    /// How many wait at each priority.
    struct Waiting {
        private var prefetch = 0
        private var soon = 0
        private var visible = 0

        subscript(priority: LoadPriority) -> Int {
            get {
                switch priority {
                case .prefetch: prefetch
                case .soon: soon
                case .visible: visible
                }
            }
            set {
                switch priority {
                case .prefetch: prefetch = newValue
                case .soon: soon = newValue
                case .visible: visible = newValue
                }
            }
        }

        var isEmpty: Bool { prefetch + soon + visible == 0 }

        /// The urgency of its most urgent holder. Without a holder nothing is urgent.
        var urgency: LoadPriority { visible > 0 ? .visible : soon > 0 ? .soon : .prefetch }
    }
}

/// Names a flight among those that follow each other in a place.
@usableFromInline
struct FlightID: Sendable {
    @usableFromInline let place: Int
    let serial: Int
}
