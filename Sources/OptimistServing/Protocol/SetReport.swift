// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the `/set` calls of a request did, for an operator's metrics. It contains no row values.
@_spi(Internals) public struct SetReport: Sendable {
    public struct Refusal: Hashable, Sendable {
        public var key: RowKey
        /// The type of the client's error, such as `invalidProperties`, or the app's own code.
        public var code: String

        public init(key: RowKey, code: String) {
            self.key = key
            self.code = code
        }
    }

    public var isPush: Bool
    /// The age in seconds of the oldest row that waited on the device. Nil: unknown.
    public var oldestPendingSeconds: Int64?
    /// The number of applied rows, including rows that lost some columns.
    public var accepted = 0
    /// The number of rows that lost columns to the server's values, or lost entirely to a delete.
    public var conflicts = 0
    /// The number of rows merged into another row.
    public var merged = 0
    /// The number of refused rows, by the error's type or the app's own code.
    public var refused: [String: Int] = [:]
    /// The rows not applied, at most ``maxRefusals`` of them. A push may name a thousand rows.
    public var refusals: [Refusal] = []

    public static let maxRefusals = 50

    public init(isPush: Bool, oldestPendingSeconds: Int64? = nil) {
        self.isPush = isPush
        self.oldestPendingSeconds = oldestPendingSeconds
    }

    mutating func add(_ verdict: RowVerdict, of key: RowKey) {
        switch verdict {
        case .accepted(let won):
            accepted += 1
            if won?.values.isEmpty == false { conflicts += 1 }
        case .mergedInto: merged += 1
        case .gone: conflicts += 1
        case .refused(let error):
            let code = error.code ?? error.type
            refused[code, default: 0] += 1
            if refusals.count < Self.maxRefusals { refusals.append(Refusal(key: key, code: code)) }
        }
    }
}
