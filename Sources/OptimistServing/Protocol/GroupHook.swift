// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// Lets an app refuse or amend the rows that a client is about to write.
///
/// The service calls `willApply` within the account's transaction, once for each group that changes something, and once
/// for each such row without a group. It stores no row of the group before the call returns. If a group has rows of
/// several accounts, the service calls it once for each account. A row that moves to another account is deleted in one
/// account and new in the other.
///
/// - If `willApply` returns amendments, the server stores their columns with the group and sends them back to devices.
/// - If `willApply` throws a `RowFault`, the server refuses every row of the group with the fault's code, and the
///   device shows a rejection.
/// - If `willApply` throws another error, or returns an amendment that is impossible or that
///   `ServingSettings.rowValidation` refuses, the server postpones the group, and the device retries it.
/// - If `willApply` does not return within `deadline`, the server cancels its task, and postpones the group and all
///   later groups of the request.
///
/// In each case the server still applies the request's other groups. The function must not have side effects: the
/// server may call it again for the same group when it repeats a transaction, and may still refuse the group for
/// another reason. Other writes wait while the function runs. In the embedded store, the writes of all accounts wait.
public struct GroupHook: Sendable {
    /// Returns changes to the group's rows, or an empty array. It runs in a separate task.
    public typealias WillApply = @Sendable (WrittenGroup) async throws -> [RowAmendment]

    var willApply: WillApply
    /// How long all calls of one request may take together.
    var deadline: Duration
    /// Receives the reason when a group is postponed. Default: ignores it.
    @_spi(Internals) public var onFailure: @Sendable (Failure) -> Void
    /// The address that the function calls, for the server's log, without secrets. Nil: it does not call an address.
    @_spi(Internals) public var address: String?

    /// Why a group was postponed.
    public enum Failure: Sendable {
        /// The function did not return within the deadline.
        case late
        /// The function threw an error other than `RowFault`.
        case threw(any Error)
        /// The function amended a row that is deleted or not in the group, or gave a column a value that it cannot
        /// hold, or produced a row that the app's check refuses.
        case badAmendment(RowKey)
    }

    /// Makes a hook.
    ///
    /// - Parameters:
    ///   - deadline: How long all calls of one request may take together. Default: 2 seconds.
    ///   - onFailure: Receives the reason when a group is postponed. Default: ignores it.
    ///   - willApply: Refuses or amends a group.
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
    /// The sender of the request. In a space, this may be any member.
    public let writer: Writer
    /// The sender's role in the space at this moment: `owner`, `writer` or `reader`. A person who founds or joins the
    /// space has the role that this gives. Later versions may add roles. Nil: the account is not a space, or the sender
    /// is not a person.
    public let role: String?
    /// The rows that change, in the order of the request, each once.
    public let rows: [WrittenRow]

    /// The id of the space. Nil: the account is a person's.
    public var space: String? { SpaceAccount.space(of: account) }
}

/// A row of a ``WrittenGroup``, merged with the server's row.
public struct WrittenRow: Sendable {
    /// The row, under the current name of its type. If the client's row was merged into another row, the key of that
    /// other row.
    public let key: RowKey
    /// The server's current values, by column. Nil: the server has no living row. A counter is its sum.
    public let before: JSONObject?
    /// The values after the write. Nil: the row would be deleted.
    public let after: JSONObject?
    /// The columns that take a value from the request. For a new row: all its columns.
    public let changed: Set<String>
}

/// Values that the app substitutes for a client's.
public struct RowAmendment: Sendable {
    /// The row, which must be alive and in the group.
    public var key: RowKey
    /// The values by column, in their wire form. Counters cannot be amended.
    public var values: [String: JSON]

    /// Makes an amendment.
    public init(_ key: RowKey, _ values: [String: JSON]) {
        self.key = key
        self.values = values
    }
}
