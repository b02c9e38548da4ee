// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
@_spi(Internals) import Optimist
import OptimistCore
import OptimistHealth
import OptimistProxy
import OptimistSession
import Synchronization

/// A simulated phone: a real client with its own database file and session, and a `FaultProxy` as its network.
///
/// When it ends, only its files remain.
actor LabDevice {
    nonisolated let name: String
    nonisolated let account: LabAccount
    nonisolated let news: NewsDesk
    nonisolated let proxy: FaultProxy
    nonisolated let credentials: FileCredentialStore
    nonisolated let diary = SessionDiary()
    /// The address of the phone's own proxy.
    nonisolated let serverAddress: URL
    private nonisolated let network = LabNetwork()
    private let folder: URL
    private let logger: Logger
    /// Nil if health is off.
    nonisolated let app: PhoneApp?
    private var running: RunningPhone?
    private(set) var health: PhoneHealth?
    private var starting: Task<Void, any Error>?
    /// The task that ends the last launch, running or finished. It returns the unsent rows.
    private var dropping: Task<Set<UUID>?, Never>?
    /// The unsent rows at the end of the previous launch. Nil if unknown.
    private var unsent: Set<UUID>?
    /// The end of the previous launch.
    private(set) var foundEnd: FoundEnd?
    private(set) var isOldWay = false
    private(set) var profile = NetworkConditions.Profile.online

    init(
        name: String, account: LabAccount, folder: URL, proxy: FaultProxy, started: ContinuousClock.Instant,
        newsroom: Newsroom, app: PhoneApp?, logger: Logger
    ) throws {
        self.name = name
        self.account = account
        self.folder = folder
        self.proxy = proxy
        self.logger = logger
        self.app = app
        guard let address = URL(string: "http://127.0.0.1:\(proxy.port)") else {
            throw OptimistError(.badLabData, "The port \(proxy.port) does not form a valid address.")
        }
        serverAddress = address
        credentials = FileCredentialStore(at: folder.appending(path: "credentials"))
        news = NewsDesk(device: name, started: started, room: newsroom)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// The running client.
    ///
    /// - Throws: `OptimistError` with code `deviceIsDown` if the phone is off.
    func phone() throws -> RunningPhone {
        guard let running else {
            throw OptimistError(.deviceIsDown, "The phone \(name) is off. Restart it.")
        }
        return running
    }

    /// Starts the phone as soon as the previous launch has closed its files.
    func start() async throws {
        if let starting { return try await starting.value }
        let task = Task { try await launch() }
        starting = task
        defer { starting = nil }
        try await task.value
    }

    private func launch() async throws {
        while let dropping {
            unsent = await dropping.value
            if self.dropping == dropping { self.dropping = nil }
        }
        guard running == nil else { return }
        // Like an app, the phone writes the launch marker before it opens the store.
        let health = await openHealth()
        let running = try RunningPhone(
            folder: folder, server: serverAddress, credentials: credentials,
            network: network, diary: diary, news: news, logger: logger)
        (self.running, self.health) = (running, health)
        health?.follow(running.sync.statuses)
        await look(at: running)
        news.changedEverything()
    }

    /// Nil if health is off or unavailable.
    private func openHealth() async -> PhoneHealth? {
        guard let app else { return nil }
        var tries = 0
        while true {
            do {
                return try PhoneHealth(
                    app, folder: folder.appending(path: "health"), server: serverAddress, network: network)
            } catch let error as OptimistError where error.code == .healthInUse && tries < Self.maxTries {
                tries += 1
                try? await Task.sleep(for: .milliseconds(1))
            } catch {
                logger.warning(
                    "A phone's health cannot be recorded", metadata: ["device": "\(name)", "error": "\(error)"])
                return nil
            }
        }
    }

    private static let maxTries = 10_000

    /// Determines how the previous launch ended, and whether its unsent rows still exist.
    private func look(at running: RunningPhone) async {
        let unsent = unsent
        guard let end = try? await health?.settle() else {
            foundEnd = nil
            return
        }
        var found = FoundEnd(end)
        if let unsent, let todos = try? await running.todos(on: nil) {
            let present = Set(todos.map(\.id))
            (found.unsent, found.lost) = (unsent.count, unsent.subtracting(present).count)
        }
        foundEnd = found
    }

    /// Ends the app without saving anything or notifying the server.
    func end(_ ending: LaunchEnding) async {
        guard let running else { return }
        let health = health
        (self.running, self.health) = (nil, nil)
        let dropping = Task<Set<UUID>?, Never> {
            let todos = try? await running.todos(on: nil)
            await running.drop()
            await health?.end(ending)
            return todos.map { Set($0.filter { $0.sync != "synced" }.map(\.id)) }
        }
        self.dropping = dropping
        _ = await dropping.value
        switch ending {
        case .quietly: break
        case .crash: news.tell(.crash)
        case .user, .memory: news.tell(.killed, ending.rawValue)
        }
        news.changedEverything()
    }

    /// Puts another account's database file aside, and continues with the file of this account, or a new one.
    ///
    /// An account that is recreated with the same address is a different account.
    func beginFile(for account: Account) async throws {
        let file = folder.appending(path: RunningPhone.file)
        guard let owner = try? DatabaseInspection(of: file, limit: 0).account?.split(separator: "#").last,
            owner != account.id
        else { return }
        await end(.quietly)
        for part in ["", "-wal", "-shm"] {
            let present = file.path + part
            for (old, new) in [(present, kept(String(owner)).path + part), (kept(account.id).path + part, present)]
            where FileManager.default.fileExists(atPath: old) {
                try FileManager.default.moveItem(atPath: old, toPath: new)
            }
        }
        try await start()
        news.tell(.session, "uses the file of this account")
    }

    private func kept(_ account: String) -> URL { folder.appending(path: "planner-\(account).sqlite") }

    func restart() async throws {
        await end(.quietly)
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

    /// Clears the caches and resets the screens, as if the app had just been installed.
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
