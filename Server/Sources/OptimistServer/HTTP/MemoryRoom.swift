// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
import OptimistWire
import Synchronization

/// The memory that the bodies, parsed requests and answers of all sessions share.
final class MemoryRoom: Sendable {
    private let ledger: Mutex<MemoryLedger>

    /// - Parameter limit: In bytes. What SQLite and the connections need comes on top.
    init(limit: Int) { ledger = Mutex(MemoryLedger(limit: limit)) }

    var total: Int { ledger.withLock { $0.total } }

    /// Begins to count what a request of the account holds.
    func share(of account: String) -> MemoryShare { MemoryShare(room: self, account: account) }

    fileprivate func change(_ body: (inout MemoryLedger) -> Void) { ledger.withLock { body(&$0) } }

    fileprivate func ask(_ body: (inout MemoryLedger) -> Bool) throws(RequestProblem) {
        guard ledger.withLock({ body(&$0) }) else {
            throw RequestProblem(
                type: "about:blank", status: 503,
                detail: "The server's memory is taken by requests and unread answers. Nothing was stored: try again.")
        }
    }
}

/// What one request holds of the memory: its body, then what it is parsed into, then its answer. All is given back after
/// ``leave()``, or when nobody holds the share any more.
final class MemoryShare: AnswerRoom {
    private let room: MemoryRoom
    private let account: String
    private let held = Mutex(0)

    init(room: MemoryRoom, account: String) {
        self.room = room
        self.account = account
    }

    deinit { leave() }

    /// - Throws: ``RequestProblem`` with status 503 if there is no room.
    func take(_ bytes: Int) throws(RequestProblem) {
        try held.withLock { held throws(RequestProblem) in
            try room.ask { $0.take(bytes, for: account, own: held) }
            held += bytes
        }
    }

    func beginAnswer(upTo bytes: Int) throws {
        let own = held.withLock(\.self)
        try room.ask { $0.setAside(bytes, for: account, own: own) }
    }

    func endAnswer(of bytes: Int, upTo limit: Int) {
        held.withLock { held in
            room.change { ledger in
                ledger.giveBack(limit)
                ledger.add(bytes, to: account)
            }
            held += bytes
        }
    }

    /// The request is done: only its answer is held, and nothing is refused.
    func keep(answer bytes: Int) {
        held.withLock { held in
            room.change { $0.add(bytes - held, to: account) }
            held = bytes
        }
    }

    func leave() { keep(answer: 0) }
}
