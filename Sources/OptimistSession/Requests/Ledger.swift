// This source file is part of the Optimist open source project, under the MIT licence.

/// Counts what one logical request has cost so far.
struct Ledger {
    let isRepeatable: Bool
    private(set) var failures = 0
    /// How often in a row no server could be reached.
    private(set) var unreached = 0
    private let attempts: Int
    private var hasReplayed = false

    init(_ request: SessionRequest) {
        isRepeatable = request.isRepeatable
        attempts = request.attempts
    }

    /// Books a failed attempt, and tells whether another is allowed.
    mutating func book(isSafe: Bool) -> Bool {
        failures += 1
        unreached = 0
        return isSafe && failures < attempts
    }

    /// Books an attempt that sent nothing.
    mutating func bookNobody() { unreached += 1 }

    /// Books a refused token, and tells whether the request may be sent with another: once (T2).
    mutating func mayReplay() -> Bool {
        defer { hasReplayed = true }
        return !hasReplayed
    }
}
