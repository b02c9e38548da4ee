// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
public import Observation
public import Optimist
import OptimistCore
public import OptimistSession
public import OptimistWire

/// An app's store, session and engine, controlled by the app's scenes.
///
/// ```swift
/// @main struct PlannerApp: App {
///     let client = OptimistClient("planner", server: "https://api.example.org", synced: Todo.self) { migrator in … }
///     var body: some Scene { WindowGroup { TodoList() }.optimist(client) }
/// }
/// ```
///
/// Sync runs while a scene of the app is active. If the store does not open, for example because the disk is full,
/// ``failure`` has the error, and the client tries again whenever a scene becomes active.
@MainActor
@Observable
public final class OptimistClient {
    /// The store with its engine, and the session that signs the engine's requests.
    public struct Components: Sendable {
        /// The device's rows.
        public var store: Store
        /// Syncs the store's rows.
        public var engine: SyncEngine
        /// Signs the requests, and signs users in and out. Nil if the app uses its own remote.
        public var session: Session?

        /// Creates the components.
        ///
        /// - Parameters:
        ///   - store: The device's rows.
        ///   - engine: The store's engine.
        ///   - session: The engine's session. Default: nil, for an app with its own remote.
        public init(store: Store, engine: SyncEngine, session: Session? = nil) {
            self.store = store
            self.engine = engine
            self.session = session
        }
    }

    /// The open store with its engine. Nil if the store did not open.
    public private(set) var components: Components?
    /// Why the store did not open. Nil if it is open.
    public private(set) var failure: (any Error)?
    /// The state of sync, with rejections and conflicts.
    public private(set) var sync = SyncStatusModel()

    @ObservationIgnored private let opening: @Sendable () throws -> Components
    @ObservationIgnored private let sharesFile: Bool
    /// The fixed status of a preview, whose engine never runs.
    @ObservationIgnored private let preview: SyncStatus?
    @ObservationIgnored private var life = SceneLife()
    @ObservationIgnored private var running: Task<Void, Never>?
    /// The last step caused by a scene phase. Steps run one after another.
    @ObservationIgnored private var lastStep: Task<Void, Never>?

    /// Creates a client with a closure that opens its components.
    ///
    /// - Parameters:
    ///   - sharesFile: Whether other processes also use the file, for example in an app group. The client then releases
    ///     all locks before the app is suspended, because the system kills a suspended app that holds a lock. After the
    ///     release, writes fail with `DatabaseError` until the app is active or calls ``syncInBackground(timeout:)``.
    ///     Default: false.
    ///   - opening: Opens the store and creates its engine. If it throws, it is called again later.
    public convenience init(sharesFile: Bool = false, opening: @escaping @Sendable () throws -> Components) {
        self.init(sharesFile: sharesFile, preview: nil, opening: opening)
    }

    init(sharesFile: Bool = false, preview: SyncStatus?, opening: @escaping @Sendable () throws -> Components) {
        self.opening = opening
        self.sharesFile = sharesFile
        self.preview = preview
        open()
    }

    /// Opens a store in a folder, with a session that the app provides.
    ///
    /// - Parameters:
    ///   - name: The name of the database file, without its extension `sqlite`.
    ///   - folder: The file's folder, which is created if missing. Default: the application support directory.
    ///   - sharesFile: Whether other processes use the file. Default: false.
    ///   - session: Signs the requests.
    ///   - synced: The record types whose tables are synced with the server.
    ///   - rowValidation: Validation rules of rows, which must match the server's. Default: none.
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

    /// Sends and receives once, in a background task. If other processes use the file and no scene is active, it
    /// releases all locks at the end.
    ///
    /// - Parameter timeout: The most time it may take. Default: 25 seconds.
    /// - Returns: What remains to sync, and why.
    /// - Throws: The error of opening the store; `CancellationError` if the task was cancelled; `DatabaseError` if the
    ///   counts cannot be read.
    @discardableResult
    public func syncInBackground(timeout: Duration = .seconds(25)) async throws -> SyncOutcome {
        await lastStep?.value
        open()
        resume()
        defer { if running == nil { suspend() } }
        guard let components else { throw failure ?? OptimistError(.noStore, "The store is not open.") }
        return try await components.engine.syncOnce(timeout: timeout)
    }

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

    /// Returns when all steps requested by scene phases have finished, except a run that continues.
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
        /// Opens a store in the app's own folder, with a session that stores its credentials in the keychain.
        ///
        /// - Parameters:
        ///   - name: The name of the database file, without its extension `sqlite`.
        ///   - server: The address of the server: scheme, host and port. Any other text is a programming error.
        ///   - synced: The record types whose tables are synced with the server.
        ///   - rowValidation: Validation rules of rows, which must match the server's. Default: none.
        ///   - migrate: Registers the app's migrations.
        public convenience init(
            _ name: String, server: StaticString, synced: any SyncedRecord.Type...,
            rowValidation: RowValidation = RowValidation(),
            migrate: @escaping @Sendable (inout DatabaseMigrator) -> Void
        ) {
            guard let address = URL(string: "\(server)") else { preconditionFailure("\(server) is not a URL.") }
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
