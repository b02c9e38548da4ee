// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistWire

/// Decides the sync engine's next actions. Pure: no clock, no disk, no network.
///
/// Push, pull and the stream of pokes are three lanes that do not wait for each other (S8). Each event returns the
/// effects to start, and their outcomes arrive as further events.
///
/// Invariant: while the machine is active, each lane with work left is running, or waits with a timer set. While it is
/// paused or failed, no lane runs or waits.
struct SyncMachine: Sendable {
    /// How often the engine looks for pending rows without another cause, and polls while no stream is open (S6).
    static let watchdogInterval = Duration.seconds(60)
    /// A request is given up after this many ticks of the watchdog. A session gives up much sooner; this is for other
    /// remotes.
    static let silentTicks = 15
    /// After this many ticks, the engine polls despite an open stream, because a poke may have been lost (R7).
    static let quietTicks = 15
    static let maxRows = 1_000
    static let maxPageRows = RowSync.Limit.pageRows
    /// A push or pull that fails after this time may have been too large for the network.
    static let longRequest = Duration.seconds(10)
    /// A stream that ends sooner counts as failed: whatever cut it, such as a proxy, will also cut the next one.
    static let leastStream = Duration.seconds(10)

    private(set) var phase = SyncStatus.Phase.stopped
    /// Whether this device has received everything that the server had at some time after it last connected.
    private(set) var isCaughtUp = false
    private var contact = Contact()
    /// Whether spaces in trouble have changes that the latest complete pull lacks.
    private var lacksSpaces = false
    private(set) var lanes: [Lane: RetrySchedule] = [:]
    private var isRunning = false
    private var isOnline = true
    /// The network monitor's first report is the initial state, not a change.
    private var hasHeardOfNetwork = false
    /// The session's last report. Nil before the first report, or without a session.
    private var isSignedIn: Bool?
    private var pause: PauseReason?
    private var failure: String?
    private var deviceTroubles: [Lane: String] = [:]
    /// Nil if the stream is not open.
    private var streamOpened: Duration?
    private var streamIsOpen: Bool { streamOpened != nil }
    /// Whether another lane has reached the server since the stream began to fail.
    private var hasWorkedBesideStream = false
    /// Whether the running pull is only a poll, made because no stream is open.
    private var isPolling = false
    /// Whether rows wait for a page before they are sent again. The engine checks them after each pull until no pages
    /// are left.
    private var pushAwaitsPages = false
    private var began: [Lane: Duration] = [:]
    private var ticksSincePull = 0
    /// Watchdog ticks without an outcome, by lane.
    private var ticks: [Lane: Int] = [:]
    private var rowLimit = SyncMachine.maxRows
    private var pageLimit = SyncMachine.maxPageRows
    private var protocolErrors = 0
    private var tokens: [Timer: Int] = [:]
    private var lastToken = 0
    private var random: SplitMix64
    private let backoff: Backoff
    private var effects: [Effect] = []
    private var now = Duration.zero

    init(random: SplitMix64, backoff: Backoff = Backoff()) {
        self.random = random
        self.backoff = backoff
        lanes = Dictionary(uniqueKeysWithValues: Lane.allCases.map { ($0, RetrySchedule()) })
    }

    /// Takes an event and returns what to do, in order.
    ///
    /// - Parameter now: The time since the engine started.
    mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
        effects = []
        self.now = now
        decide(event, now)
        updateStatus()
        return effects
    }

    private var isHalted: Bool { pause != nil || failure != nil }

    private var isActive: Bool { isRunning && !isHalted }

    var isSettled: Bool { [Lane.push, .pull].allSatisfy { lanes[$0]?.phase != .running } }

    // MARK: - Events

    private mutating func decide(_ event: Event, _ now: Duration) {
        switch event {
        case .started(let waits, let limits):
            (rowLimit, pageLimit) = (limits.push, limits.page)
            start(waits, now)
        case .wrote: bringForward([.push], by: .write)
        case .pushed(let outcome): pushed(outcome, now)
        case .pulled(let outcome): pulled(outcome, now)
        case .streamAlive:
            if streamIsOpen { return }
            streamOpened = now
            deviceTroubles[.stream] = nil
            want(.pull)
        case .poked: bringForward([.pull, .push], by: .poke)
        case .streamEnded(let failure): streamEnded(failure, now)
        case .waited(let timer, let token): waited(timer, token, now)
        case .online(let isOnline):
            let isNews = hasHeardOfNetwork || !isOnline
            hasHeardOfNetwork = true
            self.isOnline = isOnline
            if !isOnline { contact.lost() }
            if isOnline, isNews { bringForward(Lane.allCases, by: .online) }
        case .foreground:
            if isHalted { restart(now) } else { bringForward(Lane.allCases, by: .foreground) }
        case .signedIn:
            isSignedIn = true
            if isHalted { restart(now) }
        case .signedOut(let reason):
            isSignedIn = false
            halt(pause: reason)
        }
    }

    private mutating func start(_ waits: [Lane: Wait], _ now: Duration) {
        isRunning = true
        for lane in Lane.allCases {
            guard let wait = waits[lane] else {
                want(lane)
                continue
            }
            lanes[lane]?.resume(failures: wait.failures, until: now + wait.remaining, isDemanded: wait.isDemanded)
            set(.lane(lane), wait.remaining)
        }
        set(.watchdog, Self.watchdogInterval)
    }

    private mutating func restart(_ now: Duration) {
        pause = nil
        failure = nil
        deviceTroubles = [:]
        protocolErrors = 0
        effects.append(.reconnect)
        // A wait that the server demanded also applies to the next session.
        let waits = lanes.compactMapValues { $0.demandedWait(at: now) }
        for lane in Lane.allCases { lanes[lane] = RetrySchedule() }
        start(waits, now)
    }

    private mutating func pushed(_ outcome: PushOutcome, _ now: Duration) {
        switch outcome {
        case .nothing(let nextDue):
            rowLimit = Self.maxRows
            succeeded(.push, wantsMore: false)
            if let nextDue { set(.rows, nextDue) }
        case .sent(let needsPull):
            rowLimit = min(rowLimit * 2, Self.maxRows)
            pushAwaitsPages = pushAwaitsPages || needsPull
            if needsPull || !streamIsOpen { want(.pull) }
            worked(.push, wantsMore: true)
        case .failed(.tooLarge(let isProtocolLimit), let rows, let units):
            divide(rows, units, isRejected: isProtocolLimit)
        case .failed(.refused, let rows, let units): divide(rows, units, isRejected: false)
        case .failed(.pushRewound, _, _):
            effects.append(.renewDeviceID)
            self.failed(.push, .transient, now)
        case .failed(let failure, let rows, _):
            if failure == .transient, rows > 0, wasLong(.push) { rowLimit = max(1, min(rowLimit, rows / 2)) }
            failed(.push, failure, now)
        }
    }

    /// Halves the push, to find the row or group that the server cannot accept (S9). A group is never split.
    private mutating func divide(_ rows: Int, _ units: Int, isRejected: Bool) {
        if units > 1 {
            rowLimit = max(1, rows / 2)
        } else {
            effects.append(.setAside(isRejected: isRejected))
        }
        succeeded(.push, wantsMore: true)
    }

    private mutating func pulled(_ outcome: PullOutcome, _ now: Duration) {
        switch outcome {
        case .page(let hasMore, let lacksSpaces):
            if !hasMore {
                contact.receivedAll()
                self.lacksSpaces = lacksSpaces
            }
            pageLimit = min(pageLimit * 2, Self.maxPageRows)
            worked(.pull, wantsMore: hasMore)
            if pushAwaitsPages {
                pushAwaitsPages = lanes[.pull]?.phase == .running
                want(.push)
            }
            if lacksSpaces { set(.spaces, Self.watchdogInterval) }
        case .failed(let failure):
            if failure == .transient, wasLong(.pull) { pageLimit = max(1, pageLimit / 2) }
            failed(.pull, failure, now)
        }
        isPolling = false
    }

    /// Whether the network may be too slow for a lane's latest work.
    private func wasLong(_ lane: Lane) -> Bool { began[lane].map { now - $0 >= Self.longRequest } ?? false }

    private mutating func streamEnded(_ failure: Failure, _ now: Duration) {
        let lasted = streamOpened.map { now - $0 } ?? .zero
        streamOpened = nil
        if failure == .noPokes {
            succeeded(.stream, wantsMore: false)
            return
        }
        if lasted >= Self.leastStream { lanes[.stream]?.forgetFailures() }
        failed(.stream, failure, now)
        if lanes[.stream]?.failures == 1 { hasWorkedBesideStream = false }
        if isStreamAlone { contact.lost() }
    }

    private mutating func waited(_ timer: Timer, _ token: Int, _ now: Duration) {
        guard tokens[timer] == token else { return }
        tokens[timer] = nil
        switch timer {
        case .lane(let lane): if isActive, lanes[lane]?.waited() == true { run(lane) }
        case .rows: want(.push)
        case .spaces: want(.pull)
        case .watchdog:
            // A proxy may have sent the refusal, and no event would report when the proxy stops refusing.
            if pause != nil, isSignedIn != false { return restart(now) }
            set(.watchdog, Self.watchdogInterval)
            giveUpSilent(now)
            want(.push)
            ticksSincePull += 1
            if !streamIsOpen { poll() } else if ticksSincePull >= Self.quietTicks { want(.pull) }
        }
    }

    /// Polls while no stream announces changes. The stream's own waits do not change.
    private mutating func poll() {
        let isIdle = lanes[.pull]?.phase == .idle
        want(.pull)
        isPolling = isPolling || isIdle
        if lanes[.stream]?.phase == .idle { want(.stream) }
    }

    /// Keeps lanes from waiting forever. An open stream may be silent.
    private mutating func giveUpSilent(_ now: Duration) {
        for lane in Lane.allCases where lanes[lane]?.phase == .running && (lane != .stream || !streamIsOpen) {
            ticks[lane, default: 0] += 1
            if ticks[lane, default: 0] < Self.silentTicks { continue }
            effects.append(.giveUp(lane))
            // The request may have been too large for the network.
            if lane == .push { rowLimit = max(1, rowLimit / 2) }
            if lane == .pull { pageLimit = max(1, pageLimit / 2) }
            failed(lane, .transient, now)
        }
    }

    // MARK: - Lanes

    private mutating func want(_ lane: Lane) {
        guard isActive else { return }
        if lanes[lane]?.want() == true { run(lane) }
    }

    private mutating func bringForward(_ lanes: [Lane], by cause: RetrySchedule.Cause) {
        guard isActive else { return }
        for lane in lanes where lane != .stream || !streamIsOpen {
            want(lane)
            if self.lanes[lane]?.bringForward(by: cause) == true { run(lane) }
        }
    }

    private mutating func run(_ lane: Lane) {
        cancel(.lane(lane))
        ticks[lane] = 0
        began[lane] = now
        switch lane {
        case .push: effects.append(.push(rowLimit: rowLimit))
        case .pull:
            ticksSincePull = 0
            contact.asked()
            effects.append(.pull(rowLimit: pageLimit))
        case .stream: effects.append(.openStream)
        }
    }

    /// The server can be reached, whatever the network monitor reports, so the other lanes stop waiting.
    private mutating func worked(_ lane: Lane, wantsMore: Bool) {
        protocolErrors = 0
        isOnline = true
        hasWorkedBesideStream = true
        succeeded(lane, wantsMore: wantsMore)
        // A successful poll does not mean that a stream can be opened.
        let others = Lane.allCases.filter { $0 != lane && !($0 == .stream && lane == .pull && isPolling) }
        for other in others {
            if case .waiting = lanes[other]?.phase, lanes[other]?.bringForward(by: .success) == true { run(other) }
        }
    }

    private mutating func succeeded(_ lane: Lane, wantsMore: Bool) {
        let hadFailed = (lanes[lane]?.failures ?? 0) > 0
        deviceTroubles[lane] = nil
        let again = lanes[lane]?.succeeded(wantsMore: wantsMore) == true
        if hadFailed { effects.append(.remember(lane, failures: 0, wait: nil, isDemanded: false)) }
        if !isActive { return lanes[lane]?.stop() ?? () }
        if again { run(lane) }
    }

    private mutating func failed(_ lane: Lane, _ failure: Failure, _ now: Duration) {
        switch failure {
        case .paused(let reason): return halt(pause: reason)
        case .signedOut(let reason):
            // The request was made in an earlier session, and a user has signed in after it.
            guard isSignedIn == true else { return halt(pause: reason) }
            effects.append(.reconnect)
        case .fatal(let message): return halt(failure: message)
        case .transient: if lane != .stream { contact.lost() }
        case .protocolError(let message):
            contact.lost()
            protocolErrors += 1
            if protocolErrors > 1 { return halt(failure: message) }
            effects.append(.reconnect)
        default: break
        }
        guard isActive else { return lanes[lane]?.stop() ?? () }
        if case .device(let message) = failure { deviceTroubles[lane] = message } else { deviceTroubles[lane] = nil }
        var retryAfter: Duration?
        if case .throttled(let wait) = failure { retryAfter = wait }
        guard
            let wait = lanes[lane]?.failed(at: now, retryAfter: retryAfter, backoff: backoff, using: &random)
        else { return }
        if wait == .zero { return run(lane) }
        effects.append(
            .remember(
                lane, failures: lanes[lane]?.failures ?? 0, wait: wait, isDemanded: lanes[lane]?.isDemanded ?? false))
        set(.lane(lane), wait)
    }

    /// Stops every lane until ``restart(_:)``.
    private mutating func halt(pause: PauseReason? = nil, failure: String? = nil) {
        self.pause = pause ?? self.pause
        self.failure = failure ?? self.failure
        contact.lost()
        streamOpened = nil
        effects.append(.abandon)
        for lane in Lane.allCases {
            lanes[lane]?.stop()
            cancel(.lane(lane))
        }
    }

    // MARK: - Timers and status

    private mutating func set(_ timer: Timer, _ wait: Duration) {
        lastToken += 1
        tokens[timer] = lastToken
        effects.append(.wait(timer, wait, token: lastToken))
    }

    private mutating func cancel(_ timer: Timer) {
        guard tokens.removeValue(forKey: timer) != nil else { return }
        effects.append(.cancelWait(timer))
    }

    /// Publishes a new status. If the server can be reached, also pulls changes that this device may have missed.
    private mutating func updateStatus() {
        if !currentPhase.isDisconnected, !contact.isComplete, lanes[.pull]?.phase == .idle { want(.pull) }
        let before = (phase, isCaughtUp)
        phase = currentPhase
        isCaughtUp = contact.isComplete && !lacksSpaces && !phase.isDisconnected
        if before != (phase, isCaughtUp) { effects.append(.publish(phase, isCaughtUp: isCaughtUp)) }
    }

    private var currentPhase: SyncStatus.Phase {
        if let failure { return .failed(message: failure) }
        if let pause { return .paused(reason: pause) }
        if let trouble = Lane.allCases.compactMap({ deviceTroubles[$0] }).first {
            return .deviceTrouble(message: trouble)
        }
        if !isRunning { return .stopped }
        let work = [lanes[.push], lanes[.pull]].compactMap(\.self)
        if !isOnline || isStreamAlone || work.contains(where: { $0.failures > 0 }) { return .offline }
        return work.contains { $0.phase == .running } ? .syncing : .idle
    }

    /// Whether the stream's prompt attempts all failed, and no other lane has reached the server since.
    private var isStreamAlone: Bool {
        !hasWorkedBesideStream && (lanes[.stream]?.failures ?? 0) >= RetrySchedule.promptAttempts
    }
}
