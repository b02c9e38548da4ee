// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when a provider's keys are fetched, and which key checks a token.
///
/// If the provider is down, its last keys stay in use for a week, and after the first failure no sign-in with a known key
/// waits for the provider. An unknown key id causes a fetch at most once a minute, so that invented ids cost the provider
/// little.
struct KeyCache: Sendable {
    enum Advice {
        case check(with: VerificationKey)
        /// Check the token, and fetch the keys at the same time, because the last fetch has failed.
        case checkWhileFetching(with: VerificationKey)
        case refuse(TokenRefusal)
        /// Fetch the keys, report them, and ask again.
        case fetch
        /// The server does not have the provider's present keys.
        case wait
    }

    /// Keys are fetched again after this time.
    static let lifetime = Duration.seconds(3600)
    /// Old keys are no longer used after this time.
    static let patience = Duration.seconds(7 * 86_400)
    static let pause = Duration.seconds(60)
    static let pauseAfterFailure = Duration.seconds(10)

    private var keys: [VerificationKey] = []
    private var fetchedAt: Duration?
    private var mayFetchAt: Duration?
    private var hasFailed = false
    /// Whether the keys are in a file, and are never fetched.
    private let isFixed: Bool

    init() { isFixed = false }

    init(fixed keys: [VerificationKey]) {
        self.keys = keys
        isFixed = true
    }

    /// - Parameter now: The time since a fixed moment.
    func advice(id: String?, algorithm: IdentityAlgorithm, now: Duration) -> Advice {
        let found = find(id, algorithm)
        if isFixed { return found }
        let age = fetchedAt.map { now - $0 }
        let isWanted = if case .check = found { age.map { $0 >= Self.lifetime } ?? true } else { true }
        let isUsable = age.map { $0 < Self.patience } ?? false
        if isWanted, mayFetchAt.map({ now >= $0 }) ?? true {
            if case .check(let key) = found, hasFailed, isUsable { return .checkWhileFetching(with: key) }
            return .fetch
        }
        guard isUsable else { return .wait }
        if case .refuse(.unknownKey) = found, hasFailed { return .wait }
        return found
    }

    private func find(_ id: String?, _ algorithm: IdentityAlgorithm) -> Advice {
        let named = keys.filter { $0.id == nil || id == nil || $0.id == id }
        let fitting = named.filter { $0.algorithm == algorithm }
        // Without an id, the token must leave no choice.
        if let key = fitting.first, id != nil || fitting.count == 1 { return .check(with: key) }
        return .refuse(named.isEmpty || id == nil ? .unknownKey : .wrongAlgorithm)
    }

    mutating func fetched(_ keys: [VerificationKey], now: Duration) {
        self.keys = keys
        (fetchedAt, mayFetchAt, hasFailed) = (now, now + Self.pause, false)
    }

    mutating func failed(now: Duration) { (mayFetchAt, hasFailed) = (now + Self.pauseAfterFailure, true) }
}
