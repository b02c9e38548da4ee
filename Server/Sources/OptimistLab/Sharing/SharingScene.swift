// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import OptimistProxy
import OptimistServer
import OptimistSession

/// Two people with three devices, and their own server. It starts with the first request, because most visitors of the
/// lab only use the planner's phones.
actor SharingScene {
    static let devices = [
        SharingPhone.Identity(name: "ann-phone", title: "Ann’s phone", person: "Ann"),
        SharingPhone.Identity(name: "ann-tablet", title: "Ann’s tablet", person: "Ann"),
        SharingPhone.Identity(name: "bob-phone", title: "Bob’s phone", person: "Bob"),
    ]

    nonisolated let newsroom = Newsroom()
    private let folder: URL
    private let configure: @Sendable (inout ServerConfiguration) -> Void
    private let logger: Logger
    private var stage: Task<Stage, any Error>?

    /// - Parameters:
    ///   - folder: The folder of all files. It is created at the start.
    ///   - configure: Changes the server's configuration. Default: does nothing.
    init(
        folder: URL, logger: Logger, configure: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in }
    ) {
        self.folder = folder
        self.logger = logger
        self.configure = configure
    }

    /// The devices, signed in. Starts them if necessary.
    func phones() async throws -> [SharingPhone] {
        if let stage { return try await stage.value.phones }
        return try await begin(after: nil).phones
    }

    func phone(_ name: String) async throws -> SharingPhone {
        guard let phone = try await phones().first(where: { $0.identity.name == name }) else {
            throw OptimistError(.notInLab, "The device \(name) does not exist.")
        }
        return phone
    }

    /// Deletes all rows, people and devices, and starts again.
    func startOver() async throws { _ = try await begin(after: stage) }

    func end() async {
        guard let stage else { return }
        self.stage = nil
        try? await stage.value.end()
    }

    /// Starts a new stage, for which all later requests wait.
    private func begin(after former: Task<Stage, any Error>?) async throws -> Stage {
        // Unstructured, because the stage outlives the request that starts it.
        let next = Task { [folder, newsroom, configure, logger] in
            if let former {
                try? await former.value.end()
                try FileManager.default.removeItem(at: folder)
            }
            return try await Stage(in: folder, newsroom: newsroom, configure: configure, logger: logger)
        }
        stage = next
        do {
            return try await next.value
        } catch {
            // The next request tries again.
            if stage == next { stage = nil }
            throw error
        }
    }
}

/// A running server with its devices.
private struct Stage: Sendable {
    let phones: [SharingPhone]
    private let server: OptimistServer
    private let serving: Task<Void, any Error>

    init(
        in folder: URL, newsroom: Newsroom, configure: @Sendable (inout ServerConfiguration) -> Void, logger: Logger
    ) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = ServerConfiguration(
            port: 0, storage: .directory(folder.appending(path: "server")), schema: LabLists.schema, logger: logger)
        configure(&configuration)
        let server = try await OptimistServer(configuration: configuration)
        let serving = Task { try await server.run() }
        var phones: [SharingPhone] = []
        do {
            var settings = try LabSettings.load(from: folder, otherwise: LabSettings())
            let started = ContinuousClock.now
            for identity in SharingScene.devices {
                let name = identity.person.lowercased()
                let isNew = !settings.accounts.contains { $0.name == name }
                let account = LabAccount(settings.account(named: name))
                try settings.save(to: folder)
                let own = folder.appending(path: "devices").appending(path: identity.name)
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
                let proxy = try await FaultProxy.start(upstream: ("127.0.0.1", try await server.port))
                let phone = try SharingPhone(
                    identity, folder: own, proxy: proxy,
                    news: NewsDesk(device: identity.name, started: started, room: newsroom), logger: logger)
                phones.append(phone)
                try await phone.ensureSignedIn(to: account, isNew: isNew)
            }
        } catch {
            await Self.end(phones, server, serving)
            throw error
        }
        (self.phones, self.server, self.serving) = (phones, server, serving)
    }

    func end() async { await Self.end(phones, server, serving) }

    private static func end(
        _ phones: [SharingPhone], _ server: OptimistServer, _ serving: Task<Void, any Error>
    ) async {
        for phone in phones { await phone.end() }
        await server.shutdown()
        _ = await serving.result
    }
}
