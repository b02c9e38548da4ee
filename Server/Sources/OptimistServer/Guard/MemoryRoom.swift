// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// The memory that the bodies, parsed requests and answers of all sessions share.
///
/// Requests that are being evaluated have a room of their own: few run at a time and each ends soon, so slow readers cannot
/// take that room. Everything that may wait for a client is counted here.
final class MemoryRoom: Sendable {
    /// What evaluations need at most: a page for each of the database's readers, and the answers to one request that writes.
    static let evaluations = 128_000_000
    /// The least that a server can work with: half of it for evaluations, half for what waits for clients.
    static let least = 2 * evaluations
    /// How much an account always gets: enough for a small request, and about as much as its connection's buffers take up.
    static let allowance = 256_000

    private let ledger: Mutex<MemoryLedger>

    /// - Parameter memory: For evaluations and everything else, in bytes. What SQLite and the connections need comes on top.
    init(memory: Int) {
        precondition(memory >= Self.least, "The memory limit is at least \(Self.least) bytes.")
        ledger = Mutex(MemoryLedger(limit: memory - Self.evaluations, allowance: Self.allowance))
    }

    /// How much all accounts together may hold, without their allowances.
    var limit: Int { ledger.withLock { $0.limit } }

    var total: Int { ledger.withLock { $0.total } }

    /// Begins to count what a request of the account holds.
    func share(of account: String) -> MemoryShare { MemoryShare(room: self, account: account) }

    fileprivate func withLedger<Value: Sendable>(_ body: (inout MemoryLedger) -> Value) -> Value {
        ledger.withLock { body(&$0) }
    }
}

/// How much memory one request holds: its body, then what the body is parsed into, then its answer. The share gives all of it
/// back after ``leave()``, or when it is deallocated.
final class MemoryShare: AnswerRoom {
    private struct Held {
        var request = 0
        var answer = 0
        var total: Int { request + answer }
    }

    private let room: MemoryRoom
    private let account: String
    private let held = Mutex(Held())

    init(room: MemoryRoom, account: String) {
        self.room = room
        self.account = account
    }

    deinit { leave() }

    /// - Throws: ``RequestProblem`` with status 503 if there is no room.
    func take(_ bytes: Int) throws(RequestProblem) { try take(bytes, \.request, outcome: Self.nothingWasStored) }

    /// A page gets a quarter of the account's room: its text may be larger than its rows, and is made beside them.
    func beginAnswer() -> Int {
        held.withLock { held in
            let answer = held.answer
            held.answer = 0
            return room.withLedger { ledger in
                ledger.add(-answer, to: account)
                return ledger.room(for: account) / 4
            }
        }
    }

    func takeAnswer(_ bytes: Int) throws { try take(bytes, \.answer, outcome: Self.nothingWasStored) }

    private static let nothingWasStored = "Nothing was stored: try again."

    /// - Parameter outcome: What became of the request if there is no room, as a sentence.
    private func take(
        _ bytes: Int, _ part: WritableKeyPath<Held, Int>, outcome: String
    ) throws(RequestProblem) {
        let isTaken = held.withLock { held in
            let own = held.total
            let isTaken = room.withLedger { $0.take(bytes, for: account, own: own) }
            if isTaken { held[keyPath: part] += bytes }
            return isTaken
        }
        guard isTaken else {
            throw RequestProblem(
                type: "about:blank", status: 503,
                detail: "The server's memory is taken by requests and unread answers. \(outcome)")
        }
    }

    /// The request is done, and only its answer is held. This is never refused.
    func keep(answer bytes: Int) {
        held.withLock { held in
            let change = bytes - held.total
            room.withLedger { $0.add(change, to: account) }
            held = Held(request: 0, answer: bytes)
        }
    }

    /// The request has been carried out by an app's route, and only its answer is held.
    ///
    /// - Throws: ``RequestProblem`` with status 503 if there is no room.
    func keepIfThereIsRoom(answer bytes: Int) throws(RequestProblem) {
        try take(bytes, \.answer, outcome: "The request was carried out.")
        keep(answer: bytes)
    }

    func leave() { keep(answer: 0) }
}
