// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import GRDB
public import Optimist
import OptimistCore
import OptimistSession

/// A state of sync to show in a preview.
public struct SyncPreview: Sendable {
    var status: SyncStatus
    var refusesFirst = false

    /// Everything is on the server.
    public static let synced = SyncPreview(status: SyncStatus(phase: .idle))
    /// The server refused the first row of the preview's first table.
    public static let rejected = SyncPreview(status: status(.idle) { $0.rejected = 1 }, refusesFirst: true)

    /// The server cannot be reached.
    ///
    /// - Parameter pending: How many rows are pending. Default: none.
    public static func offline(pending: Int = 0) -> SyncPreview {
        SyncPreview(status: status(.offline) { $0.pending = pending })
    }

    /// The device receives everything for the first time.
    ///
    /// - Parameter fraction: The progress, from 0 to 1.
    public static func firstSync(_ fraction: Double) -> SyncPreview {
        SyncPreview(status: SyncStatus(phase: .syncing, progress: SyncProgress(fraction: fraction)))
    }

    /// Any other status.
    public static func status(_ status: SyncStatus) -> SyncPreview { SyncPreview(status: status) }

    private static func status(_ phase: SyncStatus.Phase, _ count: (inout SyncCounts) -> Void) -> SyncStatus {
        var counts = SyncCounts()
        count(&counts)
        return SyncStatus(phase: phase, counts: counts)
    }
}

extension Store {
    /// Opens a new, empty store for a preview or a test in a temporary folder, and fills it.
    ///
    /// - Parameters:
    ///   - synced: The record types.
    ///   - migrate: Registers the app's migrations.
    ///   - seed: Writes sample rows. Default: none.
    /// - Throws: As `Store.init`, and errors of `seed`.
    public static func preview(
        synced: any SyncedRecord.Type..., migrate: (inout DatabaseMigrator) -> Void,
        seed: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws -> Store {
        let store = try OptimistClient.temporaryStore(synced, migrate)
        try await store.write(seed)
        return store
    }
}

extension OptimistClient {
    /// Creates a client for a preview, with a new store in a temporary folder and a fixed state of sync.
    ///
    /// ```swift
    /// #Preview {
    ///     TodoList().optimist(.preview(.offline(pending: 3), synced: Todo.self, migrate: Todo.migrate) { db in
    ///         try Todo(title: "Tickets").insert(db)
    ///     })
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - preview: The state of sync. Default: everything is on the server.
    ///   - synced: The record types.
    ///   - migrate: Registers the app's migrations.
    ///   - seed: Writes sample rows. If it throws, ``failure`` has the error.
    public static func preview(
        _ preview: SyncPreview = .synced, synced: any SyncedRecord.Type...,
        migrate: @escaping @Sendable (inout DatabaseMigrator) -> Void,
        seed: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) -> OptimistClient {
        OptimistClient(preview: preview.status) {
            let store = try temporaryStore(synced, migrate)
            try store.fillPreview(refusesFirst: preview.refusesFirst, seed)
            return Components(store: store, engine: SyncEngine(store: store, remote: PreviewRemote()))
        }
    }

    nonisolated static func temporaryStore(
        _ synced: [any SyncedRecord.Type], _ migrate: (inout DatabaseMigrator) -> Void
    ) throws -> Store {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-preview-\(UUID().uuidString)")
        return try store("preview", at: folder, synced: synced, migrate: migrate)
    }
}

/// The remote of a preview, which never responds.
struct PreviewRemote: Remote {
    private static let failure = RemoteFailure.notSent("A preview does not have a server.")

    func connect() async throws -> RemoteAccount { throw Self.failure }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { throw Self.failure }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { throw Self.failure }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw Self.failure }
}
