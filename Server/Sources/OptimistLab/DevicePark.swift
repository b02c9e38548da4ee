// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import OptimistProxy
import OptimistServer
import OptimistSession

/// The lab's phones and their accounts.
actor DevicePark {
    private let folder: URL
    private let server: OptimistServer
    /// Phones use the servers in turn.
    private let serverPorts: [Int]
    private let started = ContinuousClock.now
    nonisolated let newsroom = Newsroom()
    /// The app name under which the server stores the phones' health. Nil if health is off.
    private let healthApp: String?
    private let logger: Logger
    private var settings: LabSettings
    private var accounts: [String: LabAccount] = [:]
    private(set) var devices: [LabDevice] = []
    /// The phones that are not open yet. Requests about phones wait for them.
    private(set) var opening: [PhoneOpening] = []
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(folder: URL, server: OptimistServer, serverPorts: [Int], healthApp: String? = nil, logger: Logger) throws {
        self.folder = folder
        self.server = server
        self.serverPorts = serverPorts
        self.healthApp = healthApp
        self.logger = logger
        settings = try LabSettings.load(from: folder)
    }

    /// Names the phones that ``startAll()`` opens. Afterwards, requests about phones wait until all are open.
    func announce() { opening = settings.devices.map { PhoneOpening(name: $0.name, step: .turn) } }

    func startAll() async throws {
        defer {
            opening = []
            for one in waiting { one.resume() }
            waiting = []
        }
        for device in settings.devices { try await open(device) }
    }

    /// Returns when all announced phones have opened or failed to open.
    func opened() async {
        if opening.isEmpty { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func note(_ step: PhoneOpening.Step, of name: String) {
        for index in opening.indices where opening[index].name == name { opening[index].step = step }
    }

    func stopAll() async {
        for device in devices {
            await device.end(.quietly)
            await device.proxy.shutdown()
        }
    }

    func device(_ name: String) async throws -> LabDevice {
        await opened()
        guard let device = devices.first(where: { $0.name == name }) else {
            throw OptimistError(.notInLab, "The phone \(name) does not exist.")
        }
        return device
    }

    func add(_ name: String, account: String) async throws -> LabDevice {
        await opened()
        guard name.wholeMatch(of: /[A-Za-z0-9_-]{1,32}/) != nil, account.wholeMatch(of: /[A-Za-z0-9_-]{1,32}/) != nil
        else {
            throw OptimistError(.badLabRequest, "A name is 1 to 32 letters, digits, hyphens and underscores.")
        }
        guard !devices.contains(where: { $0.name == name }) else {
            throw OptimistError(.badLabRequest, "The phone \(name) already exists.")
        }
        let device = LabSettings.Device(name: name, account: account)
        settings.devices.append(device)
        return try await open(device)
    }

    /// Returns the server's id of an account.
    func serverAccount(named name: String) async throws -> String {
        let email = settings.account(named: name).email
        guard let account = try await server.accounts().first(where: { $0.email == email }) else {
            throw OptimistError(.notInLab, "The account \(name) does not exist.")
        }
        return account.id
    }

    /// Returns nil if the account was deleted and has not been created again.
    func presentAccount(named name: String) async throws -> String? {
        do { return try await serverAccount(named: name) } catch let error as OptimistError
            where error.code == .notInLab && accounts[name] != nil
        {
            return nil
        }
    }

    func rows(where isWanted: (ShownTodo) -> Bool) async throws -> Set<AccountRow> {
        var rows: Set<AccountRow> = []
        try await forEachRow { todo, row in if isWanted(todo) { rows.insert(row) } }
        return rows
    }

    /// Returns the to-dos on running phones by sync state. Phones may have a to-do in different states.
    func rowsBySync() async throws -> [String: Set<AccountRow>] {
        var rows: [String: Set<AccountRow>] = [:]
        try await forEachRow { todo, row in rows[todo.sync, default: []].insert(row) }
        return rows
    }

    private func forEachRow(_ body: (ShownTodo, AccountRow) -> Void) async throws {
        for device in devices {
            guard let phone = try? await device.phone(), let account = phone.session.account else { continue }
            for todo in try await phone.todos(on: nil) {
                body(todo, AccountRow(account: account.id, id: todo.id.uuidString.lowercased()))
            }
        }
    }

    private func account(named name: String) -> LabAccount {
        if let account = accounts[name] { return account }
        let account = LabAccount(settings.account(named: name))
        accounts[name] = account
        return account
    }

    func keep(_ password: String, of account: LabAccount) throws {
        account.password = password
        for index in settings.accounts.indices where settings.accounts[index].name == account.name {
            settings.accounts[index].password = password
        }
        try settings.save(to: folder)
    }

    @discardableResult
    private func open(_ device: LabSettings.Device) async throws -> LabDevice {
        let account = account(named: device.account)
        try settings.save(to: folder)
        let proxy = try await FaultProxy.start(upstreams: serverPorts.map { ("127.0.0.1", $0) })
        let opened = try LabDevice(
            name: device.name, account: account, folder: folder.appending(path: "devices").appending(path: device.name),
            proxy: proxy, started: started, newsroom: newsroom,
            app: healthApp.map { PhoneApp($0, ofPhone: device.name) }, logger: logger)
        devices.append(opened)
        note(.database, of: device.name)
        try await opened.start()
        note(.signIn, of: device.name)
        try await opened.ensureSignedIn()
        note(.others, of: device.name)
        return opened
    }
}

/// The progress of a phone that is opening.
struct PhoneOpening: Encodable, Sendable {
    enum Step: String, Encodable {
        /// It waits for the phones before it.
        case turn
        case database, signIn
        /// It is open, and waits for the other phones.
        case others
    }

    let name: String
    var step: Step
}

extension LabDevice {
    /// Signs in, unless a user is already signed in, for example after a relaunch.
    func ensureSignedIn() async throws {
        let session = try phone().session
        for await state in session.states {
            switch state {
            case .restoring, .locked: continue
            case .signedOut: return try await signIn()
            case .active, .refreshing, .degraded: return
            }
        }
    }

    /// Signs in to the phone's account, and creates it if it does not exist.
    func signIn(email: String? = nil, password: String? = nil) async throws {
        let session = try phone().session
        let (email, password) = (email ?? account.email, password ?? account.password)
        do {
            let entered = try await session.signIn(email: email, password: password)
            if email == account.email { try await beginFile(for: entered) }
        } catch let refusal as OptimistError where refusal.code == .signInRefused && email == account.email {
            do {
                try await beginFile(for: session.signUp(email: email, password: password))
            } catch let error as OptimistError where error.code == .emailTaken {
                throw refusal
            }
        }
    }

    func signOut() async throws { try await phone().session.signOut() }
}
