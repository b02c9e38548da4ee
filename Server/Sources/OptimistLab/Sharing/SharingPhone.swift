// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import Optimist
import OptimistCore
import OptimistProxy
import OptimistSession
import Synchronization

/// A running device of a person who shares lists: a client with its own file, and a `FaultProxy` as its network.
final class SharingPhone: Sendable {
    struct Identity: Sendable {
        /// The name in addresses.
        let name: String
        let title: String
        let person: String
    }

    let identity: Identity
    let store: Store
    let session: Session
    let sync: SyncEngine
    let screen = SharingScreen()
    let news: NewsDesk
    let proxy: FaultProxy
    private let network = LabNetwork()
    private let chosen = Mutex(NetworkConditions.Profile.online)
    private let work: Task<Void, Never>

    /// Opens the device's file and starts to sync.
    ///
    /// - Parameter folder: The device's own folder. It must exist.
    init(_ identity: Identity, folder: URL, proxy: FaultProxy, news: NewsDesk, logger: Logger) throws {
        guard let server = URL(string: "http://127.0.0.1:\(proxy.port)") else {
            throw OptimistError(.badLabData, "The port \(proxy.port) does not form a valid address.")
        }
        let store = try Store(
            at: folder.appending(path: "lists.sqlite"), synced: LabLists.records, migrate: LabLists.migrate)
        let session = Session(
            server: server, transport: AsyncHTTPClientTransport.shared,
            credentials: FileCredentialStore(at: folder.appending(path: "credentials")),
            configuration: SessionConfiguration(deviceName: identity.title), logger: logger)
        let sync = SyncEngine(store: store, session: session, reachability: network, logger: logger)
        self.identity = identity
        self.store = store
        self.session = session
        self.sync = sync
        self.news = news
        self.proxy = proxy
        let screen = screen
        // Unstructured, because a device outlives the request that started it.
        work = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await sync.run() }
                group.addTask { await screen.follow(store, news) }
                group.addTask {
                    for await _ in sync.statuses { news.changed(.status, .outbox, .rejections) }
                }
            }
        }
    }

    func end() async {
        work.cancel()
        await work.value
        await proxy.shutdown()
    }

    /// Signs in, unless the person is signed in already, and creates the account if it does not exist.
    ///
    /// - Parameter isNew: Whether the account cannot exist. This saves a refused sign-in, which takes as long as others.
    func ensureSignedIn(to account: LabAccount, isNew: Bool) async throws {
        for await state in session.states {
            switch state {
            case .restoring, .locked: continue
            case .active, .refreshing, .degraded: return
            case .signedOut:
                if !isNew, try await signIn(to: account) { return }
                try await session.signUp(email: account.email, password: account.password)
                return
            }
        }
    }

    /// Returns false if the server does not know the account.
    private func signIn(to account: LabAccount) async throws -> Bool {
        do {
            try await session.signIn(email: account.email, password: account.password)
            return true
        } catch let refusal as OptimistError where refusal.code == .signInRefused {
            return false
        }
    }

    // MARK: - Network

    var profile: NetworkConditions.Profile { chosen.withLock(\.self) }

    func setNetwork(_ patch: NetworkConditionsPatch) async throws {
        if let profile = patch.profile { chosen.withLock { $0 = profile } }
        let conditions = proxy.conditions.applying(patch)
        try await proxy.setConditions(conditions)
        network.say(isOnline: !conditions.isOffline)
        news.changed(.device, .status)
    }
}
