// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
import Optimist
import OptimistCore
import OptimistProxy
import OptimistSession
import Synchronization

/// A simulated phone: a real client with a database file, a session and a network of its own.
///
/// Its network is a `FaultProxy` to the lab's server. Crashing it drops everything but its files.
actor LabDevice {
    nonisolated let name: String
    nonisolated let account: LabAccount
    nonisolated let news: NewsDesk
    nonisolated let proxy: FaultProxy
    nonisolated let credentials: FileCredentialStore
    nonisolated let diary = SessionDiary()
    /// Where it finds the server: at its own network's other end.
    nonisolated let serverAddress: URL
    private nonisolated let network = LabNetwork()
    private let folder: URL
    private let logger: Logger
    private var running: RunningPhone?
    /// The crash that came last, under way or over.
    private var dropping: Task<Void, Never>?
    private(set) var isOldWay = false
    private(set) var profile = NetworkConditions.Profile.online

    init(
        name: String, account: LabAccount, folder: URL, proxy: FaultProxy, started: ContinuousClock.Instant,
        newsroom: Newsroom, logger: Logger
    ) throws {
        self.name = name
        self.account = account
        self.folder = folder
        self.proxy = proxy
        self.logger = logger
        guard let address = URL(string: "http://127.0.0.1:\(proxy.port)") else {
            throw OptimistError(.badLabData, "The port \(proxy.port) makes no address.")
        }
        serverAddress = address
        credentials = FileCredentialStore(directory: folder.appending(path: "credentials"))
        news = NewsDesk(device: name, started: started, room: newsroom)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// The phone's client, if it is switched on.
    ///
    /// - Throws: `OptimistError` with code `deviceIsDown`.
    func phone() throws -> RunningPhone {
        guard let running else {
            throw OptimistError(.deviceIsDown, "The phone \(name) has crashed. Restart it.")
        }
        return running
    }

    /// Switches the phone on: it opens its files, once a crash has let go of them, and goes on where it was.
    func start() async throws {
        while let dropping {
            await dropping.value
            if self.dropping == dropping { self.dropping = nil }
        }
        guard running == nil else { return }
        running = try RunningPhone(
            folder: folder, server: serverAddress, credentials: credentials,
            network: network, diary: diary, news: news, logger: logger)
        news.changedEverything()
    }

    /// Ends the phone as a crash does: nothing is saved, and the server is not told.
    func crash() async {
        guard let running else { return }
        self.running = nil
        let dropping = Task { await running.drop() }
        self.dropping = dropping
        await dropping.value
        news.tell(.crash)
        news.changedEverything()
    }

    /// Begins a new file, if the phone's own belongs to an account that is gone. The old file is kept beside it.
    ///
    /// A file belongs to the first account that syncs it. An account that is created again under the same address is
    /// another one.
    func beginFile(for account: Account) async throws {
        let file = folder.appending(path: RunningPhone.file)
        guard let owner = try? DatabaseInspection(of: file, limit: 0).account, !owner.contains(account.id) else {
            return
        }
        await crash()
        let kept = "planner-\(UUID().uuidString.prefix(8).lowercased()).sqlite"
        for part in ["", "-wal", "-shm"] {
            let old = file.path + part
            guard FileManager.default.fileExists(atPath: old) else { continue }
            try FileManager.default.moveItem(atPath: old, toPath: folder.appending(path: kept).path + part)
        }
        try await start()
        news.tell(.session, "begins a new file")
    }

    func restart() async throws {
        await crash()
        try await start()
        news.tell(.restart)
    }

    // MARK: - Network

    func setNetwork(_ patch: NetworkConditionsPatch) async throws {
        if let profile = patch.profile { self.profile = profile }
        let conditions = proxy.conditions.applying(patch)
        try await proxy.setConditions(conditions)
        network.say(isOnline: !conditions.isOffline)
        news.tell(.network, profile.rawValue)
        news.changed(.device, .status)
    }

    func dropNextResponses(_ count: Int) { proxy.dropNextResponses(count) }

    // MARK: - Loading

    /// Empties the phone's caches, as if the app had just been installed, and puts its screens back to their beginnings.
    func forgetLoaded() async throws {
        try await phone().forgetLoaded()
        news.changed(.home, .feed, .shorts, .loading)
    }

    // MARK: - Old way

    func setOldWay(_ isOn: Bool) {
        isOldWay = isOn
        news.changed(.device, .home, .feed, .shorts)
    }
}
