// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Decides which account's transactions are sent to one receiver, and when.
///
/// It knows the accounts that may have transactions to send. A failed account waits longer after each failure, while
/// the others are sent. Only one server sends at a time, during its turn: the schedule asks for a turn when an account
/// is ready, and ends it when none is, or after ``maxTurn`` so that other servers get one.
struct DeliverySchedule {
    /// Why a call failed.
    enum Failure: Hashable, Sendable {
        /// The answer's status.
        case status(Int)
        case redirected, late, unreachable
        /// The server's own data cannot be read or written.
        case storage

        /// The answer that switches a receiver off.
        static let gone = Failure.status(410)
    }

    /// How the calls for one account ended.
    enum Outcome: Hashable, Sendable {
        /// Everything is sent.
        case done
        /// The account may have more transactions.
        case more
        case failed(Failure)
        /// Some calls were confirmed, and then one failed.
        case interrupted(Failure)
        /// The receiver does not want any more calls.
        case gone

        fileprivate var isFailure: Bool {
            switch self {
            case .done, .more: false
            case .failed, .interrupted, .gone: true
            }
        }
    }

    enum Event {
        case changed(Set<String>)
        case turnBegan
        /// Another server has the turn, or this server's turn is over.
        case turnEnded
        case ended(String, Outcome)
        /// An operator, or the receiver's answer, switched the receiver off or on.
        case switched(off: Bool)
        /// An operator wants all accounts to be tried now.
        case retry
        /// Time passed. Accounts whose wait is over are noticed only then.
        case tick
    }

    enum Action: Hashable {
        case beginTurn, endTurn
        case deliver(String)
        case switchOff
    }

    private struct Entry {
        enum State {
            case ready, sending
            case waiting(until: Duration)
        }

        var state = State.ready
        /// When the account got something to send.
        var since: Duration
        /// Consecutive failures.
        var failures = 0
        /// The number of the first of these failures, in the order of all accounts' calls.
        var failingSince = 0
        /// Whether the account changed since its calls began.
        var isChanged = false

        var isWaiting: Bool { if case .waiting = state { true } else { false } }
    }

    private enum Turn {
        case none, asked
        case held(since: Duration)
        case ending
    }

    static let concurrency = 16
    static let maxTurn = Duration.seconds(30)
    /// How long to wait before asking for a turn again.
    static let turnPause = Duration.seconds(5)
    private static let firstWait = Duration.seconds(5)
    private static let maxWait = Duration.seconds(12 * 3_600)
    /// After so many consecutive failures of any accounts, the receiver counts as down. Its next success lets the
    /// accounts try again that began to fail meanwhile, which otherwise might wait for hours. Accounts that failed
    /// before keep their waits (D3).
    private static let failuresWhenDown = 3

    private var entries: [String: Entry] = [:]
    private var ready: [String] = []
    private var firstReady = 0
    private var sending = 0
    private var turn = Turn.none
    private var noTurnBefore = Duration.zero
    /// How many accounts' calls have ended, and which of them was the last success.
    private var ended = 0
    private var lastSuccess = 0
    private(set) var isOff = false
    private var random: SplitMix64

    /// - Parameter random: Varies the waits by a fifth.
    init(random: SplitMix64) { self.random = random }

    /// Accounts with something to send, accounts that wait after a failure, and how long the first has waited.
    func figures(at now: Duration) -> (waiting: Int, failing: Int, lag: Duration) {
        let oldest = entries.values.map(\.since).min() ?? now
        return (entries.count, entries.values.count { $0.failures > 0 }, now - oldest)
    }

    mutating func handle(_ event: Event, at now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .changed(let accounts): for account in accounts.sorted() { note(account, at: now) }
        case .turnBegan: turn = .held(since: now)
        case .turnEnded:
            if case .asked = turn { noTurnBefore = now + Self.turnPause }
            turn = .none
        case .ended(let account, let outcome):
            end(account, outcome, at: now)
            if outcome == .gone { actions.append(.switchOff) }
        case .switched(let off): isOff = off
        case .retry: wake(\.isWaiting)
        case .tick: wakeDue(at: now)
        }
        return actions + proceed(at: now)
    }

    private mutating func note(_ account: String, at now: Duration) {
        if entries[account] != nil {
            entries[account]?.isChanged = true
        } else {
            entries[account] = Entry(since: now)
            ready.append(account)
        }
    }

    private mutating func end(_ account: String, _ outcome: Outcome, at now: Duration) {
        guard var entry = entries[account], case .sending = entry.state else { return }
        sending -= 1
        ended += 1
        switch outcome {
        case .done where !entry.isChanged: entries[account] = nil
        case .done, .more:
            if entry.isChanged, outcome == .done { entry.since = now }
            entry.failures = 0
            entry.state = .ready
            entries[account] = entry
            ready.append(account)
        case .interrupted:
            entry.failures = 1
            entry.failingSince = ended
            entry.state = .waiting(until: now + wait(afterFailures: 1))
            entries[account] = entry
        case .failed, .gone:
            if entry.failures == 0 { entry.failingSince = ended }
            entry.failures += 1
            entry.state = .waiting(until: now + wait(afterFailures: entry.failures))
            entries[account] = entry
            if outcome == .gone { isOff = true }
            return
        }
        let failures = (lastSuccess + 1)..<ended
        if failures.count >= Self.failuresWhenDown { wake { $0.isWaiting && failures.contains($0.failingSince) } }
        // An interrupted account succeeded, and then began to fail.
        lastSuccess = outcome.isFailure ? ended - 1 : ended
    }

    private mutating func wait(afterFailures failures: Int) -> Duration {
        let longest = (1..<max(failures, 1)).reduce(Self.firstWait) { wait, _ in min(wait * 3, Self.maxWait) }
        return min(longest * Double.random(in: 0.8...1.2, using: &random), Self.maxWait)
    }

    private mutating func wakeDue(at now: Duration) {
        wake { if case .waiting(let end) = $0.state { end <= now } else { false } }
    }

    private mutating func wake(_ isMeant: (Entry) -> Bool) {
        let accounts = entries.filter { isMeant($0.value) }.map(\.key).sorted()
        for account in accounts { entries[account]?.state = .ready }
        ready += accounts
    }

    private mutating func proceed(at now: Duration) -> [Action] {
        let mayStart = !isOff && firstReady < ready.count
        switch turn {
        case .none:
            guard mayStart, now >= noTurnBefore else { return [] }
            turn = .asked
            return [.beginTurn]
        case .held(let since):
            var actions: [Action] = []
            while !isOff, now - since < Self.maxTurn, sending < Self.concurrency, let account = takeReady() {
                entries[account]?.state = .sending
                entries[account]?.isChanged = false
                sending += 1
                actions.append(.deliver(account))
            }
            guard sending == 0 else { return actions }
            turn = .ending
            return [.endTurn]
        case .asked, .ending: return []
        }
    }

    private mutating func takeReady() -> String? {
        guard firstReady < ready.count else { return nil }
        defer {
            firstReady += 1
            if firstReady > 1_000, firstReady * 2 > ready.count {
                ready.removeFirst(firstReady)
                firstReady = 0
            }
        }
        return ready[firstReady]
    }
}

extension DeliverySchedule.Failure: CustomStringConvertible {
    /// A code, such as `status.500`.
    var description: String {
        switch self {
        case .status(let status): "status.\(status)"
        case .redirected: "redirected"
        case .late: "late"
        case .unreachable: "unreachable"
        case .storage: "storage"
        }
    }
}
