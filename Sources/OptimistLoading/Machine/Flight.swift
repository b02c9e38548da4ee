// This source file is part of the Optimist open source project, under the MIT licence.

/// The loading of one value. Contains only numbers, so that reading it is cheap.
struct Flight {
    enum Stage {
        case queuedToRead, reading, queuedToFetch, fetching

        var isUnderWay: Bool { self == .reading || self == .fetching }
    }

    /// Changes when the flight continues from the disk to the source.
    var serial: Int
    let lane: Int
    var stage: Stage
    var priority: LoadPriority
    var waiting = Waiting()
    /// Whether no caller has used it yet.
    var isUnseen = true
    var waitingForSource = 0
    var waitingFetches = 0
    /// How many other flights its fetch waits for.
    var asking = 0
    /// Whether it continues without a holder, to refresh an expired value for the next caller.
    var isOfItsOwn = false
    /// Whether `isOfItsOwn` becomes true when a holder gets an expired value.
    var mayOutlive = false
    /// Whether its key was removed: waiting holders get the result, but it is not stored.
    var isForgotten = false
    var progress: Double?
    var hasPartial = false
    var queuedAt: Duration
    var lingersUntil: Duration?

    var mustFetch: Bool { waitingForSource > 0 }

    mutating func join(_ holder: Holder) {
        waiting[holder.priority] += 1
        if holder.freshness == .fresh { waitingForSource += 1 }
        if holder.asker != nil { waitingFetches += 1 }
    }

    mutating func leave(_ holder: Holder) {
        waiting[holder.priority] -= 1
        if holder.freshness == .fresh { waitingForSource -= 1 }
        if holder.asker != nil { waitingFetches -= 1 }
    }

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

        var urgency: LoadPriority { visible > 0 ? .visible : soon > 0 ? .soon : .prefetch }
    }
}

/// Identifies a flight among successive flights at the same place.
@usableFromInline
struct FlightID: Sendable {
    @usableFromInline let place: Int
    let serial: Int
}
