// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization

final class Pokes: Sendable {
    fileprivate struct State {
        var audiences: [String: Audience] = [:]
        /// The accounts of each listener.
        var accounts: [ObjectIdentifier: Set<String>] = [:]
        var spread: [String: SpreadPokes] = [:]
    }

    private let state = Mutex(State())
    private let types: SpaceTypes
    private let dependencies: Dependencies

    var count: Int { state.withLock(\.accounts.count) }

    /// Nil if no other process shares the data.
    private let channel: (any ProcessChannel)?

    private let followers: [any AccountFollower]

    /// - Parameters:
    ///   - channel: Nil if no other process shares the data.
    ///   - followers: Hear of each changed account.
    init(
        channel: (any ProcessChannel)? = nil, followers: [any AccountFollower] = [], types: SpaceTypes = SpaceTypes(),
        dependencies: Dependencies = Dependencies()
    ) {
        self.channel = channel
        self.followers = followers
        self.types = types
        self.dependencies = dependencies
    }

    func announce(_ announcement: Announcement) { channel?.announce(announcement) }

    /// Keeps forgotten streams from filling the memory.
    private static let maxListeners = 200

    /// - Throws: ``RequestProblem`` `limit` with status 429 if the person already has the maximum number of listeners.
    func checkRoom(for person: String) throws {
        guard listeners(of: person).count >= Self.maxListeners else { return }
        throw RequestProblem.limit(
            "maxEventStreams", "At most \(Self.maxListeners) connections may listen to an account.", status: 429)
    }

    func add(_ listener: Listener) {
        state.withLock { state in
            state.audiences[listener.account, default: Audience(of: listener.account)].add(listener)
            state.accounts[ObjectIdentifier(listener)] = [listener.account]
        }
    }

    func remove(_ listener: Listener) {
        state.withLock { state in
            for account in state.accounts.removeValue(forKey: ObjectIdentifier(listener)) ?? [] {
                state.leave(account, listener)
            }
        }
    }

    /// The accounts with a listener in this process, and the last state sent to each.
    var listening: [String: SyncState?] { state.withLock { $0.audiences.mapValues(\.told) } }

    var sessions: [String: String] {
        state.withLock { state in
            let all = state.audiences.values.flatMap(\.listeners)
            return Dictionary(all.map { ($0.session, $0.account) }, uniquingKeysWith: { $1 })
        }
    }

    func isFollowed(_ account: String) -> Bool { state.withLock { $0.audiences[account] != nil } }

    func ended(account: String, session: String, reason: SessionEnd) {
        for listener in listeners(of: account) where listener.session == session { listener.ended(reason.rawValue) }
    }

    private func listeners(of account: String) -> [Listener] {
        state.withLock { $0.audiences[account]?.listeners ?? [] }
    }
}

// MARK: - Changes

extension Pokes {
    func changed(account: String, types: Set<String>, state new: SyncState) {
        for follower in followers { follower.changed(account: account) }
        let hearing = state.withLock { state in
            state.audiences[account]?.hear(new, changesMembers: types.contains(self.types.member)) ?? []
        }
        tell(hearing, account, PendingEvents.Change(types: types, state: new))
    }

    private func tell(_ listeners: [Listener], _ account: String, _ change: PendingEvents.Change) {
        guard listeners.count > SpreadPokes.listenersAtOnce else {
            for listener in listeners { listener.changed([account: change]) }
            return
        }
        let begins = state.withLock { state in
            defer { state.spread[account, default: SpreadPokes()].add(listeners, change) }
            return state.spread[account] == nil
        }
        if begins { _ = dependencies.spawn { [self] in await spread(account) } }
    }

    private func spread(_ account: String) async {
        while let next = takeSpread(account) {
            for (listener, change) in next { listener.changed([account: change]) }
            guard (try? await dependencies.clock.sleep(for: SpreadPokes.pause)) != nil else { return }
        }
    }

    private func takeSpread(_ account: String) -> [(listener: Listener, change: PendingEvents.Change)]? {
        state.withLock { state in
            guard let next = state.spread[account]?.take(), !next.isEmpty else {
                state.spread[account] = nil
                return nil
            }
            return next
        }
    }
}

// MARK: - Spaces

extension Pokes {
    /// Lets a person's listeners hear of these spaces, and of no others.
    ///
    /// - Parameters:
    ///   - states: The states of the person's account and of the spaces whose members include the person.
    ///   - first: A listener that also gets the state of the person's own account.
    func follow(_ person: String, _ spaces: Set<String>, _ states: [String: SyncState], telling first: Listener?) {
        var news: [ObjectIdentifier: (listener: Listener, changes: [String: PendingEvents.Change])] = [:]
        func note(_ listener: Listener, _ account: String, _ state: SyncState) {
            news[ObjectIdentifier(listener), default: (listener, [:])].changes[account] = PendingEvents.Change(
                types: nil, state: state)
        }
        state.withLock { state in
            for listener in state.audiences[person]?.listeners ?? [] {
                let former = state.accounts.updateValue(spaces.union([person]), forKey: ObjectIdentifier(listener))
                for account in (former ?? []).subtracting(spaces) where account != person {
                    state.leave(account, listener)
                }
                for account in spaces { state.audiences[account, default: Audience(of: account)].add(listener) }
            }
            for account in spaces {
                guard let known = states[account] else {
                    state.audiences[account]?.learnNothing(about: person)
                    continue
                }
                let learned = state.audiences[account]?.learn(at: known) { $0 == person ? true : nil }
                for listener in learned?.listeners ?? [] { note(listener, account, learned?.1 ?? known) }
            }
        }
        if let first, let own = states[person] { note(first, person, own) }
        for (listener, changes) in news.values { listener.changed(changes) }
    }

    func mustReadMembers(of space: String) -> Bool {
        state.withLock { $0.audiences[space]?.beginReading() ?? false }
    }

    func learn(_ space: String, _ persons: Set<String>?, at read: SyncState) {
        let learned = state.withLock { $0.audiences[space]?.learn(at: read) { persons?.contains($0) ?? true } }
        for listener in learned?.listeners ?? [] {
            listener.changed([space: PendingEvents.Change(types: nil, state: learned?.1 ?? read)])
        }
    }

    func endReading(_ space: String, givingUp: Bool) -> Bool {
        state.withLock { $0.audiences[space]?.endReading(givingUp: givingUp) ?? true }
    }
}

extension Pokes.State {
    fileprivate mutating func leave(_ account: String, _ listener: Listener) {
        audiences[account]?.remove(listener)
        if audiences[account]?.isEmpty == true { audiences[account] = nil }
    }
}
