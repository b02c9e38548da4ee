// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation
public import Optimist

/// The observable state of sync.
@MainActor
@Observable
public final class SyncStatusModel {
    /// The latest status.
    public private(set) var status: SyncStatus
    /// The result of the last ``syncNow()``. Nil if it was never called, or failed.
    public private(set) var outcome: SyncOutcome?
    /// The user's writes that the server refused.
    public let rejections: RejectionsModel?
    /// The user's edits that lost a conflict.
    public let conflicts: ConflictsModel?

    private let engine: SyncEngine?

    /// Creates a model of an engine's status. It is updated only while ``follow()`` runs.
    ///
    /// - Parameters:
    ///   - engine: The engine.
    ///   - store: The engine's store.
    public init(_ engine: SyncEngine, store: Store) {
        self.engine = engine
        status = SyncStatus()
        rejections = RejectionsModel(store)
        conflicts = ConflictsModel(store)
    }

    /// Creates a model with a fixed status, for previews and tests, and for an app whose store did not open.
    ///
    /// - Parameters:
    ///   - status: The status. Default: the engine is stopped, and nothing is pending.
    ///   - store: The source of rejections and conflicts. Default: none.
    public init(_ status: SyncStatus = SyncStatus(), store: Store? = nil) {
        engine = nil
        self.status = status
        rejections = store.map(RejectionsModel.init)
        conflicts = store.map(ConflictsModel.init)
    }

    /// Keeps the status, the rejections and the conflicts up to date until the task is cancelled.
    public func follow() async {
        await withTaskGroup { group in
            group.addTask { await self.rejections?.follow() }
            group.addTask { await self.conflicts?.follow() }
            guard let statuses = engine?.statuses else { return }
            for await status in statuses { self.status = status }
        }
    }

    /// Sends and receives now, for pull to refresh. Returns when done, when the server cannot be reached, when the task
    /// is cancelled, or after 25 seconds.
    public func syncNow() async { outcome = try? await engine?.syncOnce() }

    /// The contents of an invitation: see `SyncEngine.preview(of:)`. Unknown if the store did not open.
    ///
    /// - Throws: `CancellationError`.
    public func preview(of link: InvitationLink) async throws -> InvitationCheck {
        try await engine?.preview(of: link) ?? .unknown
    }

    /// One line, such as `Offline, 3 pending, 1 refused`. English; an app in other languages derives its own from
    /// ``status``.
    public var summary: String { status.summary }
}

extension SyncStatus {
    /// One line to display, such as `Offline, 3 pending, 1 refused`. English.
    public var summary: String {
        var parts = [phaseSummary]
        if counts.pending > 0 { parts.append("\(counts.pending) pending") }
        if counts.rejected > 0 { parts.append("\(counts.rejected) refused") }
        return parts.joined(separator: ", ")
    }

    private var phaseSummary: String {
        switch phase {
        case .offline: return "Offline"
        case .deviceTrouble(let message), .failed(let message): return message
        case .paused(let reason): return reason.message
        case .stopped, .idle, .deferred, .syncing: break
        }
        if let progress {
            guard let fraction = progress.fraction else { return "Receiving" }
            return "Receiving, \(Int((min(max(fraction, 0), 1) * 100).rounded(.down))) %"
        }
        return switch phase {
        case .syncing: "Syncing"
        case .stopped: "Not syncing"
        case .deferred: "Waiting"
        default: counts.pending > 0 ? "Waiting" : "Up to date"
        }
    }
}
