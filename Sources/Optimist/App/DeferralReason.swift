// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistWire

/// Why the server does not accept a row for now. The row stays pending, and the engine sends it again.
public struct DeferralReason: Sendable, Hashable {
    /// The server's code, such as `schemaTooNew`, or the device's: `blocked`, `lifeUnknown`, `groupFailed`, `held`,
    /// `invalidID`, `parentUnknown`, `restarted`, `unknownSpace` or `unsentRows`. An open set: a server may send codes
    /// that this version does not know.
    public let code: String
    /// The column at fault, if any.
    public let column: String?

    /// Creates a reason, for use in your own ``Remote``.
    public init(_ code: String, column: String? = nil) {
        self.code = code
        self.column = column
    }

    /// A message that is safe to show.
    public var message: String {
        switch code {
        case "schemaTooNew":
            column.map { "The server does not know the column \"\($0)\" yet." }
                ?? "The server does not know this version of the app yet."
        case "schemaTooOld": "The server accepts this table only from a newer version of the app."
        case "valueTooNew":
            column.map { "The server's schema is older than the app's and does not allow this value of \"\($0)\"." }
                ?? "The server's schema is older than the app's and does not allow this row."
        case "unknownMethod": "The server does not have this table."
        case "rateLimit": "The server asked this device to wait."
        case "blocked": "The row waits for another row that it refers to."
        case "groupFailed": "The server did not accept another row that was written together with this one."
        case "lifeUnknown":
            "The server does not know this version of the row. The device receives the row again, and then resends it."
        case "held": "The server refuses every request that contains this row."
        case "restarted": "The server has restarted. The device first compares its data with the server's."
        case "unknownSpace": "The row names a space that this person does not use."
        case "unsentRows": "The person leaves the space as soon as its other rows are sent."
        case "parentUnknown": "The device does not have the row that this one belongs to."
        case "invitationInvalid": "The invitation is not valid, or the server does not have it yet."
        case "accountNotFound", "accessEnded": "The server does not let this person write in the space."
        case "behind": "The device first receives what changed in the space."
        case "invalidID": "The row's id is not a UUID, so the server cannot store it."
        default: "The server does not accept the row for now (\(code))."
        }
    }

    /// The answer came from an epoch of the remote's database that the device does not know yet.
    static let restarted = DeferralReason("restarted")
    /// Whether the server does not know the space, or not this person in it.
    var isOutside: Bool { ["accountNotFound", "accessEnded"].contains(code) }
    static let invalidID = DeferralReason("invalidID")

    var json: JSON {
        ["code": .string(code), "column": column.map(JSON.string) ?? .null, "message": .string(message)]
    }

    struct Place: Hashable {
        var table: String
        var reason: DeferralReason
    }
}

extension DeferralReason: CustomStringConvertible {
    /// All properties as JSON.
    public var description: String { json.description }
}

/// Pending rows of a table that wait for the same reason.
public struct DeferredRows: Sendable, Hashable {
    /// The table of the rows.
    public let table: String
    /// Why the rows wait.
    public let reason: DeferralReason
    /// The number of rows.
    public let count: Int
    /// When the first of them is sent again, by the device's clock.
    public let nextAttempt: Date
}
