// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Synchronization

/// A connection that hears of changes.
final class Listener: Sendable {
    /// The person's own account.
    let account: String
    let session: String
    /// Wakes the connection; several wakes are merged. Finishes when the connection must close.
    let wakes: AsyncStream<Void>

    /// The types that the client wants to hear of.
    private let types: Set<String>
    private let wake: AsyncStream<Void>.Continuation
    private let pending = Mutex(PendingEvents())

    init(account: String, session: String, types: Set<String>) {
        self.account = account
        self.session = session
        self.types = types
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Notes changes by account.
    func changed(_ changes: [String: PendingEvents.Change]) {
        let wanted = changes.mapValues { $0.of(types) }.filter { !$0.value.isEmpty }
        if wanted.isEmpty { return }
        pending.withLock { pending in
            for (account, change) in wanted { pending.note(change, of: account) }
        }
        wake.yield()
    }

    func pingIsDue() {
        pending.withLock { $0.notePing() }
        wake.yield()
    }

    func rested() {
        pending.withLock { $0.noteRested() }
        wake.yield()
    }

    func ended(_ reason: String) {
        pending.withLock { $0.noteEnd(reason) }
        wake.yield()
    }

    func close() { wake.finish() }

    func takeEvent(pingSeconds: Int) -> ServerEvent? { pending.withLock { $0.take(pingSeconds: pingSeconds) } }
}
