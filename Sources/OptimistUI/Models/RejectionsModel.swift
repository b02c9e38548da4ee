// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
public import Observation
public import Optimist
public import OptimistWire

/// An observable list of the user's writes that the server refused, with the actions a user can take.
@MainActor
@Observable
public final class RejectionsModel {
    /// The rejections, oldest first.
    public private(set) var rejections: [Rejection] = []
    /// The error of the last retry or discard, or of reading the rejections. Nil if all succeeded.
    ///
    /// A failed action leaves its rejection in place, and a failed read leaves the list as it was.
    public var failure: (any Error)? { actions.failure ?? reading }

    private let actions: StoreActions
    private var reading: (any Error)?
    /// The rejections that the user has postponed. They stay in ``rejections``.
    private var postponed: Set<Rejection.ID> = []

    /// Creates a model without rejections. It is updated only while ``follow()`` runs.
    public init(_ store: Store) { actions = StoreActions(store) }

    /// Keeps ``rejections`` up to date until the task is cancelled.
    public func follow() async {
        for await state in actions.store.observe(Rejection.fetchAll) {
            rejections = state.value ?? rejections
            reading = state.failure
        }
    }

    /// The oldest rejection of a record type that the user has not postponed, or nil.
    ///
    /// - Parameter type: The record type.
    public func first<Record: SyncedRecord>(of type: Record.Type) -> Rejection? {
        rejections.first { $0.table == type.databaseTableName && !postponed.contains($0.id) }
    }

    /// Postpones a rejection: ``first(of:)`` skips it until the next launch of the app.
    ///
    /// - Parameter rejection: One of ``rejections``.
    public func postpone(_ rejection: Rejection) { postponed.insert(rejection.id) }

    /// Writes the refused values again, as a new write by the user. On failure, sets ``failure``.
    ///
    /// - Parameters:
    ///   - rejection: One of ``rejections``.
    ///   - edits: Values that replace the refused ones, by column. Default: none.
    public func retry(_ rejection: Rejection, with edits: JSONObject = [:]) async {
        await actions.act { try await $0.retry(rejection, with: edits) }
    }

    /// Discards the user's values, so that the server's values stay. On failure, sets ``failure``.
    ///
    /// - Parameter rejection: One of ``rejections``.
    public func discard(_ rejection: Rejection) async { await actions.act { try await $0.discard(rejection) } }
}
