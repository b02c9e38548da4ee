// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the `/set` calls of a request did, for an operator's figures. It holds no value of a row.
@_spi(Internals) public struct SetReport: Sendable {
    /// A row that was not applied.
    public struct Refusal: Hashable, Sendable {
        /// The row, under the current name of its type.
        public var key: RowKey
        /// The type of the error that the client gets, such as `invalidProperties`, or the app's own code.
        public var code: String

        /// Makes a refusal from its parts.
        public init(key: RowKey, code: String) {
            self.key = key
            self.code = code
        }
    }

    /// Whether the request was a device's push.
    public var isPush: Bool
    /// How old the oldest row was that waited on the device, in seconds. Nil: the device does not say.
    public var oldestPendingSeconds: Int64?
    /// The number of rows that were applied, including those that lost a part.
    public var accepted = 0
    /// The number of rows that lost a part against the server's value, or everything against a delete.
    public var conflicts = 0
    /// The number of rows that became one with another row.
    public var merged = 0
    /// The number of rows that were not applied, by the error's type or the app's own code.
    public var refused: [String: Int] = [:]
    /// The rows that were not applied. At most ``maxRefusals``: a push may name a thousand.
    public var refusals: [Refusal] = []

    /// How many refusals a report names.
    public static let maxRefusals = 50

    /// Makes a report of a request that names no rows.
    public init(isPush: Bool, oldestPendingSeconds: Int64? = nil) {
        self.isPush = isPush
        self.oldestPendingSeconds = oldestPendingSeconds
    }

    mutating func add(_ verdict: RowVerdict, of key: RowKey) {
        switch verdict {
        case .accepted(let won):
            accepted += 1
            if won != nil { conflicts += 1 }
        case .mergedInto: merged += 1
        case .gone: conflicts += 1
        case .refused(let error):
            let code = error.code ?? error.type
            refused[code, default: 0] += 1
            if refusals.count < Self.maxRefusals { refusals.append(Refusal(key: key, code: code)) }
        }
    }
}
