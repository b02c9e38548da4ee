// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// An app's word on what a client is about to write.
///
/// The service calls `willApply` within the account's transaction, once for each group that changes something, or for each
/// row that has no group. Nothing of the group is stored before the call returns.
///
/// - If it returns amendments, their columns are stored with the group, and devices get them back.
/// - If it throws a `RowFault`, every row of the group is refused with its code, and the device shows a rejection.
/// - If it throws another error, or returns an amendment that is not possible or that `ServingSettings.rowValidation` refuses,
///   the group is put off, and the device tries it again.
/// - If it does not return within `deadline`, its task is cancelled, and the group is put off together with the groups of
///   the request that it has not seen yet.
///
/// The other groups of the request are applied in each case. The function may be called again for a group, because a
/// transaction may be repeated, and the group may be refused later for another reason. So it has no effects of its own.
/// While it runs, other writes wait: in the embedded store those of all accounts.
public struct GroupHook: Sendable {
    /// Returns what to change in the group's rows. Empty: nothing. It runs in a task of its own.
    public typealias WillApply = @Sendable (WrittenGroup) async throws -> [RowAmendment]

    /// Looks at a group.
    var willApply: WillApply
    /// How long the calls of one request may take together. Default: 2 seconds.
    var deadline: Duration
    /// Is told why a group was put off. Default: ignores it.
    @_spi(Internals) public var onFailure: @Sendable (Failure) -> Void

    /// Why a group was put off.
    public enum Failure: Sendable {
        /// The function did not return within the deadline.
        case late
        /// The function threw an error that is no `RowFault`.
        case threw(any Error)
        /// The function amended a row that is not in the group or is deleted, gave a column a value that it cannot hold, or made
        /// of the row what the app's own check refuses.
        case badAmendment(RowKey)
    }

    /// Makes a hook.
    ///
    /// - Parameters:
    ///   - deadline: How long the calls of one request may take together. Default: 2 seconds.
    ///   - onFailure: Is told why a group was put off. Default: ignores it.
    ///   - willApply: Looks at a group.
    public init(
        deadline: Duration = .seconds(2), onFailure: @escaping @Sendable (Failure) -> Void = { _ in },
        willApply: @escaping WillApply
    ) {
        self.willApply = willApply
        self.deadline = deadline
        self.onFailure = onFailure
    }
}

/// Rows that a client writes together.
public struct WrittenGroup: Sendable {
    /// The account's id.
    public let account: String
    /// The id of the device that pushes. Nil: the request is not a device's push.
    public let device: String?
    /// The rows that change, in the order of the request, each once.
    public let rows: [WrittenRow]
}

/// A row of a ``WrittenGroup``, merged with what the server has.
public struct WrittenRow: Sendable {
    /// The row, under the current name of its type. If the client's row has been merged into another one, it is that one.
    public let key: RowKey
    /// The values that the server has, by column. Nil: it has no living row. A counter is its sum.
    public let before: JSONObject?
    /// The values that the row would have. Nil: it would be deleted.
    public let after: JSONObject?
    /// The columns that take a value of the request. For a new row: all that it has.
    public let changed: Set<String>
}

/// Values that the app puts in place of a client's.
public struct RowAmendment: Sendable {
    /// The row. It is one of the group, and alive.
    public var key: RowKey
    /// The values by column, in their form on the wire. No column is a counter.
    public var values: [String: JSON]

    /// Makes an amendment.
    public init(_ key: RowKey, _ values: [String: JSON]) {
        self.key = key
        self.values = values
    }
}
