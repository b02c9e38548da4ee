// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

/// The connections that listen for changes, by account.
final class Pokes: Sendable {
    private struct Listeners {
        var byAccount: [String: [ObjectIdentifier: Listener]] = [:]
        /// The last state that each account's listeners were sent.
        var told: [String: SyncState] = [:]
    }

    private let listeners = Mutex(Listeners())

    /// The number of connections that listen.
    var count: Int { listeners.withLock { $0.byAccount.values.reduce(0) { $0 + $1.count } } }

    /// Nil if no other process shares the data.
    private let channel: (any ProcessChannel)?

    private let reports: AppReports?

    /// - Parameters:
    ///   - channel: Sends announcements to the other processes. Nil if there are none.
    ///   - reports: Reports transactions to the app. Nil if the app does not want them.
    init(channel: (any ProcessChannel)? = nil, reports: AppReports? = nil) {
        self.channel = channel
        self.reports = reports
    }

    /// Announces a change to the other processes, if there are any.
    func announce(_ announcement: Announcement) { channel?.announce(announcement) }

    /// The most connections that may listen to one account. It keeps forgotten streams from filling the memory.
    private static let maxListeners = 200

    /// - Throws: ``RequestProblem`` `limit` with status 429 if the account has as many listeners as it may.
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

    /// The accounts with a listener in this process, each with the last state its listeners were sent, or nil for none.
    var listening: [String: SyncState?] {
        listeners.withLock { listeners in
            Dictionary(uniqueKeysWithValues: listeners.byAccount.keys.map { ($0, listeners.told[$0]) })
        }
    }

    /// The sessions with a listener in this process, each with its account.
    var sessions: [String: String] {
        listeners.withLock { listeners in
            let all = listeners.byAccount.values.flatMap(\.values)
            return Dictionary(all.map { ($0.session, $0.account) }, uniquingKeysWith: { $1 })
        }
    }

    /// Notifies an account's listeners, and the reports to the app, that rows of some types have changed.
    func changed(account: String, types: Set<String>, state: SyncState) {
        reports?.changed(account: account)
        let found = listeners.withLock { listeners in
            guard let found = listeners.byAccount[account]?.values else { return [Listener]() }
            listeners.told[account] = listeners.told[account].map { $0.followed(by: state) } ?? state
            return Array(found)
        }
        for listener in found { listener.changed(types, state) }
    }

    /// Notifies the listeners of a session that it has ended.
    func ended(account: String, session: String, reason: SessionEnd) {
        for listener in listeners(of: account) where listener.session == session { listener.ended(reason.rawValue) }
    }

    private func listeners(of account: String) -> [Listener] {
        listeners.withLock { $0.byAccount[account].map { Array($0.values) } ?? [] }
    }
}

/// One connection to the event source: its pending events, and a way to wake it.
final class Listener: Sendable {
    let account: String
    let session: String
    /// Wakes the connection. Wakes are merged until the connection handles one. The stream finishes when the connection
    /// must close.
    let wakes: AsyncStream<Void>

    /// The types the client asked for. Nil means all.
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

    /// Ends the rest after a state.
    func rested() {
        pending.withLock { $0.noteRested() }
        wake.yield()
    }

    func ended(_ reason: String) {
        pending.withLock { $0.noteEnd(reason) }
        wake.yield()
    }

    /// Closes the connection, because its client has left or the server is shutting down.
    func close() { wake.finish() }

    /// Returns the event to send now, if any.
    func takeEvent(pingSeconds: Int) -> ServerEvent? {
        pending.withLock { $0.take(account: account, pingSeconds: pingSeconds) }
    }
}
