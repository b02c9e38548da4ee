// This source file is part of the Optimist open source project, under the MIT licence.

/// Counts the attempts of one logical request.
struct Ledger {
    let isRepeatable: Bool
    private(set) var failures = 0
    /// Consecutive attempts that reached no server.
    private(set) var unreached = 0
    private let attempts: Int
    private var hasReplayed = false

    init(_ request: SessionRequest) {
        isRepeatable = request.isRepeatable
        attempts = request.attempts
    }

    /// Counts a failed attempt and returns whether another is allowed.
    mutating func book(isSafe: Bool) -> Bool {
        failures += 1
        unreached = 0
        return isSafe && failures < attempts
    }

    mutating func bookNobody() { unreached += 1 }

    /// Returns whether the request may be replayed after a refused token: only once.
    mutating func mayReplay() -> Bool {
        defer { hasReplayed = true }
        return !hasReplayed
    }
}
