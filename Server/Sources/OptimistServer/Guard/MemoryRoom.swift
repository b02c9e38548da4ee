// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// The memory that bodies, parsed requests and answers share while they may wait for a client.
///
/// Evaluations have separate memory: few run at a time, and each ends soon. Clients that read slowly cannot exhaust it.
final class MemoryRoom: Sendable {
    /// A page for each database reader, and the answers to one writing request.
    static let evaluations = 128_000_000
    static let least = 2 * evaluations
    /// Enough for a small request, and about the size of its connection's buffers.
    static let allowance = 256_000

    private let ledger: Mutex<MemoryLedger>

    /// - Parameter memory: In bytes, including evaluations. SQLite and the connections need additional memory.
    init(memory: Int) {
        precondition(memory >= Self.least, "The memory limit must be at least \(Self.least) bytes.")
        ledger = Mutex(MemoryLedger(limit: memory - Self.evaluations, allowance: Self.allowance))
    }

    /// Without each person's allowance.
    var limit: Int { ledger.withLock { $0.limit } }

    var total: Int { ledger.withLock { $0.total } }

    func share(of person: String) -> MemoryShare { MemoryShare(room: self, person: person) }

    fileprivate func withLedger<Value: Sendable>(_ body: (inout MemoryLedger) -> Value) -> Value {
        ledger.withLock { body(&$0) }
    }
}

/// The memory of one request: its body, then the parsed body, then its answer. The memory is returned after ``leave()``
/// or on deallocation.
final class MemoryShare: AnswerRoom {
    private struct Held {
        var request = 0
        var answer = 0
        var total: Int { request + answer }
    }

    private let room: MemoryRoom
    private let person: String
    private let held = Mutex(Held())

    init(room: MemoryRoom, person: String) {
        self.room = room
        self.person = person
    }

    deinit { leave() }

    /// - Throws: ``RequestProblem`` with status 503 if the memory is full.
    func take(_ bytes: Int) throws(RequestProblem) { try take(bytes, \.request, outcome: Self.nothingWasStored) }

    /// Returns a quarter of the person's room, because a page's text may be larger than its rows, and both exist at
    /// the same time.
    func beginAnswer() -> Int {
        held.withLock { held in
            let answer = held.answer
            held.answer = 0
            return room.withLedger { ledger in
                ledger.add(-answer, to: person)
                return ledger.room(for: person) / 4
            }
        }
    }

    func takeAnswer(_ bytes: Int) throws { try take(bytes, \.answer, outcome: Self.nothingWasStored) }

    private static let nothingWasStored = "Nothing was stored. Try again."

    /// - Parameter outcome: A sentence about the outcome of the request, for the error.
    private func take(
        _ bytes: Int, _ part: WritableKeyPath<Held, Int>, outcome: String
    ) throws(RequestProblem) {
        let isTaken = held.withLock { held in
            let own = held.total
            let isTaken = room.withLedger { $0.take(bytes, for: person, own: own) }
            if isTaken { held[keyPath: part] += bytes }
            return isTaken
        }
        guard isTaken else {
            throw RequestProblem(
                type: "about:blank", status: 503,
                detail: "The server's memory is full of requests and unread answers. \(outcome)")
        }
    }

    /// Keeps only the memory for the answer of a finished request, and never refuses it.
    func keep(answer bytes: Int) {
        held.withLock { held in
            let change = bytes - held.total
            room.withLedger { $0.add(change, to: person) }
            held = Held(request: 0, answer: bytes)
        }
    }

    /// Keeps only the memory for the answer of a request that an app's route has carried out.
    ///
    /// - Throws: ``RequestProblem`` with status 503 if the memory is full.
    func keepIfThereIsRoom(answer bytes: Int) throws(RequestProblem) {
        try take(bytes, \.answer, outcome: "The request was carried out.")
        keep(answer: bytes)
    }

    func leave() { keep(answer: 0) }
}
