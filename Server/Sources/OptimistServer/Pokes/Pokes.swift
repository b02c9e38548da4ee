// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

final class Pokes: Sendable {
    private struct Listeners {
        var byAccount: [String: [ObjectIdentifier: Listener]] = [:]
        var told: [String: SyncState] = [:]
    }

    private let listeners = Mutex(Listeners())

    var count: Int { listeners.withLock { $0.byAccount.values.reduce(0) { $0 + $1.count } } }

    /// Nil if no other process shares the data.
    private let channel: (any ProcessChannel)?

    private let reports: AppReports?

    /// - Parameters:
    ///   - channel: Nil if no other process shares the data.
    ///   - reports: Nil if the app does not want reports.
    init(channel: (any ProcessChannel)? = nil, reports: AppReports? = nil) {
        self.channel = channel
        self.reports = reports
    }

    func announce(_ announcement: Announcement) { channel?.announce(announcement) }

    /// Keeps forgotten streams from filling the memory.
    private static let maxListeners = 200

    /// - Throws: ``RequestProblem`` `limit` with status 429 if the account already has the maximum number of listeners.
    func checkRoom(for account: String) throws {
        let count = listeners.withLock { $0.byAccount[account]?.count ?? 0 }
        guard count >= Self.maxListeners else { return }
        throw RequestProblem.limit(
            "maxEventStreams", "At most \(Self.maxListeners) connections may listen to an account.", status: 429)
    }

    func add(_ listener: Listener) {
        listeners.withLock { $0.byAccount[listener.account, default: [:]][ObjectIdentifier(listener)] = listener }
    }

    func remove(_ listener: Listener) {
        listeners.withLock { listeners in
            listeners.byAccount[listener.account]?[ObjectIdentifier(listener)] = nil
            if listeners.byAccount[listener.account]?.isEmpty == true { listeners.byAccount[listener.account] = nil }
            if listeners.byAccount[listener.account] == nil { listeners.told[listener.account] = nil }
        }
    }

    /// The accounts with a listener in this process, and the last state sent to each.
    var listening: [String: SyncState?] {
        listeners.withLock { listeners in
            Dictionary(uniqueKeysWithValues: listeners.byAccount.keys.map { ($0, listeners.told[$0]) })
        }
    }

    var sessions: [String: String] {
        listeners.withLock { listeners in
            let all = listeners.byAccount.values.flatMap(\.values)
            return Dictionary(all.map { ($0.session, $0.account) }, uniquingKeysWith: { $1 })
        }
    }

    func changed(account: String, types: Set<String>, state: SyncState) {
        reports?.changed(account: account)
        let found = listeners.withLock { listeners in
            guard let found = listeners.byAccount[account]?.values else { return [Listener]() }
            listeners.told[account] = listeners.told[account].map { $0.followed(by: state) } ?? state
            return Array(found)
        }
        for listener in found { listener.changed(types, state) }
    }

    func ended(account: String, session: String, reason: SessionEnd) {
        for listener in listeners(of: account) where listener.session == session { listener.ended(reason.rawValue) }
    }

    private func listeners(of account: String) -> [Listener] {
        listeners.withLock { $0.byAccount[account].map { Array($0.values) } ?? [] }
    }
}

final class Listener: Sendable {
    let account: String
    let session: String
    /// Wakes the connection; several wakes are merged. Finishes when the connection must close.
    let wakes: AsyncStream<Void>

    /// Nil means all types.
    private let types: Set<String>?
    private let wake: AsyncStream<Void>.Continuation
    private let pending = Mutex(PendingEvents())

    init(account: String, session: String, types: Set<String>?) {
        self.account = account
        self.session = session
        self.types = types
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func changed(_ changed: Set<String>, _ state: SyncState) {
        let wanted = types.map { $0.intersection(changed) } ?? changed
        if wanted.isEmpty { return }
        pending.withLock { $0.note(wanted, state) }
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

    func takeEvent(pingSeconds: Int) -> ServerEvent? {
        pending.withLock { $0.take(account: account, pingSeconds: pingSeconds) }
    }
}
