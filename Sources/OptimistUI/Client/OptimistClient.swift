// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
public import Observation
public import Optimist
import OptimistCore
public import OptimistSession
public import OptimistWire

/// An app's store, session and engine, opened with a few words and kept in step with the app's scenes.
///
/// ```swift
/// @main struct PlannerApp: App {
///     let client = OptimistClient("planner", server: "https://api.example.org", synced: Todo.self) { migrator in … }
///     var body: some Scene { WindowGroup { TodoList() }.optimist(client) }
/// }
/// ```
///
/// Sync runs while a scene of the app is active. If the store does not open, for example because the disk is full,
/// ``failure`` says why, and the client opens it again whenever a scene becomes active.
@MainActor
@Observable
public final class OptimistClient {
    /// The store with its engine, and the session that signs the engine's requests.
    public struct Components: Sendable {
        /// The device's rows.
        public var store: Store
        /// Sends and receives them.
        public var engine: SyncEngine
        /// Signs the requests, and signs users in and out. Nil: the app has a remote of its own.
        public var session: Session?

        /// Gathers what the app has opened.
        ///
        /// - Parameters:
        ///   - store: The device's rows.
        ///   - engine: The store's engine.
        ///   - session: The engine's session. Default: nil, for a remote of the app's own.
        public init(store: Store, engine: SyncEngine, session: Session? = nil) {
            self.store = store
            self.engine = engine
            self.session = session
        }
    }

    /// The open store with its engine. Nil: the store did not open.
    public private(set) var components: Components?
    /// Why the store did not open. Nil: it is open.
    public private(set) var failure: (any Error)?
    /// The state of sync, and what was refused or lost.
    public private(set) var sync = SyncStatusModel()

    @ObservationIgnored private let opening: @Sendable () throws -> Components
    @ObservationIgnored private let sharesFile: Bool
    /// The only status of a preview, whose engine never runs.
    @ObservationIgnored private let preview: SyncStatus?
    @ObservationIgnored private var life = SceneLife()
    @ObservationIgnored private var running: Task<Void, Never>?
    /// The last step of the scenes' life. The next one begins when it has ended.
    @ObservationIgnored private var lastStep: Task<Void, Never>?

    /// Opens what a closure opens.
    ///
    /// - Parameters:
    ///   - sharesFile: Whether the file is in a container that other processes use too, such as an app group. The client then
    ///     releases all locks before the app is suspended: the system ends a suspended app that holds one. Writes fail with
    ///     `DatabaseError` from then on, until the app is active again or calls ``syncInBackground(timeout:)``. Default: false.
    ///   - opening: Opens the store and makes its engine. It is called again later if it throws.
    public convenience init(sharesFile: Bool = false, opening: @escaping @Sendable () throws -> Components) {
        self.init(sharesFile: sharesFile, preview: nil, opening: opening)
    }

    init(sharesFile: Bool = false, preview: SyncStatus?, opening: @escaping @Sendable () throws -> Components) {
        self.opening = opening
        self.sharesFile = sharesFile
        self.preview = preview
        open()
    }

    /// Opens a store in a folder, for a session of the app's own.
    ///
    /// - Parameters:
    ///   - name: The name of the database file, without its extension `sqlite`.
    ///   - folder: The file's folder, which is created if it is missing. Default: the app's folder for its own data.
    ///   - sharesFile: Whether other processes use the file. Default: false.
    ///   - session: Signs the requests.
    ///   - synced: The record types whose tables are kept in step with the server.
    ///   - rowValidation: The app's checks of its rows, which its server has too. Default: none.
    ///   - migrate: Registers the app's migrations.
    public convenience init(
        _ name: String, at folder: URL? = nil, sharesFile: Bool = false, session: Session,
        synced: any SyncedRecord.Type..., rowValidation: RowValidation = RowValidation(),
        migrate: @escaping @Sendable (inout DatabaseMigrator) -> Void
    ) {
        self.init(sharesFile: sharesFile) {
            let store = try Self.store(name, at: folder, synced: synced, rowValidation: rowValidation, migrate: migrate)
            return Components(store: store, engine: SyncEngine(store: store, session: session), session: session)
        }
    }

    nonisolated static func store(
        _ name: String, at folder: URL?, synced: [any SyncedRecord.Type],
        rowValidation: RowValidation = RowValidation(),
        migrate: (inout DatabaseMigrator) -> Void
    ) throws -> Store {
        let folder =
            try folder
            ?? FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Store(
            at: folder.appending(path: "\(name).sqlite"), synced: synced, rowValidation: rowValidation, migrate: migrate
        )
    }

    /// The store, for the environment of views.
    public var store: StoreAccess {
        if let components { return StoreAccess(components.store) }
        return failure.map { StoreAccess(failure: $0) } ?? .missing
    }

    /// Sends and receives once, in a background task. Afterwards it releases all locks, if other processes use the file and no
    /// scene is active.
    ///
    /// - Parameter timeout: How long it may take. Default: 25 seconds.
    /// - Returns: What remains, and why.
    /// - Throws: The error with which the store does not open; `CancellationError` if the task was cancelled; `DatabaseError` if
    ///   the counts cannot be read.
    @discardableResult
    public func syncInBackground(timeout: Duration = .seconds(25)) async throws -> SyncOutcome {
        await lastStep?.value
        open()
        resume()
        defer { if running == nil { suspend() } }
        guard let components else { throw failure ?? OptimistError(.noStore, "The store is not open.") }
        return try await components.engine.syncOnce(timeout: timeout)
    }

    /// Follows the phases of the app's scenes.
    func sceneChanged(to phase: SceneLife.Phase) {
        for effect in life.changed(to: phase) {
            switch effect {
            case .open:
                open()
                resume()
            case .run: run()
            case .wake where components == nil:
                open()
                run()
            case .wake: components?.engine.syncNow()
            case .stop: stop()
            }
        }
    }

    /// Returns when everything that the phases of the scenes have asked for has happened, except a run, which goes on.
    func settled() async { await lastStep?.value }

    private func open() {
        guard components == nil else { return }
        do {
            let components = try opening()
            self.components = components
            sync =
                preview.map { SyncStatusModel($0, store: components.store) }
                ?? SyncStatusModel(components.engine, store: components.store)
            failure = nil
        } catch {
            failure = error
        }
    }

    private func run() {
        guard let components else { return }
        let (sync, before, isPreview) = (sync, lastStep, preview != nil)
        running = Task {
            await before?.value
            await withTaskGroup { group in
                group.addTask { await sync.follow() }
                if !isPreview { await components.engine.run() }
            }
        }
    }

    private func stop() {
        let run = running
        running = nil
        run?.cancel()
        lastStep = Task { [weak self] in
            await run?.value
            if let self, self.running == nil { self.suspend() }
        }
    }

    private func suspend() {
        if sharesFile { NotificationCenter.default.post(name: Database.suspendNotification, object: nil) }
    }

    private func resume() {
        if sharesFile { NotificationCenter.default.post(name: Database.resumeNotification, object: nil) }
    }
}

#if canImport(Security)
    extension OptimistClient {
        /// Opens a store in the app's own folder, with a session that keeps its credentials in the keychain.
        ///
        /// - Parameters:
        ///   - name: The name of the database file, without its extension `sqlite`.
        ///   - server: The address of the server: scheme, host and port. Any other text is a programming error.
        ///   - synced: The record types whose tables are kept in step with the server.
        ///   - rowValidation: The app's checks of its rows, which its server has too. Default: none.
        ///   - migrate: Registers the app's migrations.
        public convenience init(
            _ name: String, server: StaticString, synced: any SyncedRecord.Type...,
            rowValidation: RowValidation = RowValidation(),
            migrate: @escaping @Sendable (inout DatabaseMigrator) -> Void
        ) {
            guard let address = URL(string: "\(server)") else { preconditionFailure("\(server) is no address.") }
            if let fault = ServerAddress.fault(of: address) { preconditionFailure("\(server): \(fault)") }
            let session = Session(server: address, transport: URLSessionTransport(), credentials: .keychain)
            self.init {
                let store = try Self.store(
                    name, at: nil, synced: synced, rowValidation: rowValidation, migrate: migrate)
                return Components(store: store, engine: SyncEngine(store: store, session: session), session: session)
            }
        }
    }
#endif
