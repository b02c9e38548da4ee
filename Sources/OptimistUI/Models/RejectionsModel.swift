// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
public import Observation
public import Optimist
public import OptimistWire

/// What the server refused, for views that observe, with what the user can do about it.
@MainActor
@Observable
public final class RejectionsModel {
    /// The rejections, oldest first.
    public private(set) var rejections: [Rejection] = []
    /// Why the last retry or discard failed, and the rejection is still there; or why the rejections cannot be read, and the last
    /// ones stay. Nil: neither.
    public var failure: (any Error)? { actions.failure ?? reading }

    private let actions: StoreActions
    /// Why they cannot be read. Nil: they can.
    private var reading: (any Error)?
    /// The rejections that the user has put off. They stay in ``rejections``.
    private var postponed: Set<Rejection.ID> = []

    /// Makes a model without rejections. It changes only while ``follow()`` runs.
    public init(_ store: Store) { actions = StoreActions(store) }

    /// Keeps ``rejections`` up to date until the task is cancelled.
    public func follow() async {
        for await state in actions.store.observe(Rejection.fetchAll) {
            rejections = state.value ?? rejections
            reading = state.failure
        }
    }

    /// The oldest rejection of a record type that the user has not put off. Nil: there is none.
    ///
    /// - Parameter type: The record type.
    public func first<Record: SyncedRecord>(of type: Record.Type) -> Rejection? {
        rejections.first { $0.table == type.databaseTableName && !postponed.contains($0.id) }
    }

    /// Leaves a rejection for later: ``first(of:)`` skips it until the app is launched again.
    ///
    /// - Parameter rejection: One of ``rejections``.
    public func postpone(_ rejection: Rejection) { postponed.insert(rejection.id) }

    /// Writes the refused values again, as a new write of the user. If that fails, ``failure`` says why.
    ///
    /// - Parameters:
    ///   - rejection: One of ``rejections``.
    ///   - edits: Values that replace the refused ones, by column. Default: none.
    public func retry(_ rejection: Rejection, with edits: JSONObject = [:]) async {
        await actions.act { try await $0.retry(rejection, with: edits) }
    }

    /// Forgets what the user wrote, so that the server's values stay. If that fails, ``failure`` says why.
    ///
    /// - Parameter rejection: One of ``rejections``.
    public func discard(_ rejection: Rejection) async { await actions.act { try await $0.discard(rejection) } }
}
