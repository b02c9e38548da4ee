// This source file is part of the Optimist open source project, under the MIT licence.

/// Identifies credentials: the session's epoch and the token pair's number within it.
///
/// An answer with an older stamp than the session's is neither used nor stored.
struct Stamp: Hashable, Comparable, Sendable {
    /// Incremented by each sign-in and sign-out.
    var epoch: Int
    /// Incremented by each token pair within an epoch.
    var generation: Int

    var next: Self { Self(epoch: epoch, generation: generation + 1) }

    static func < (a: Self, b: Self) -> Bool { (a.epoch, a.generation) < (b.epoch, b.generation) }
}

/// The access token of one attempt.
struct Binding: Equatable, Sendable {
    var accessToken: Secret
    var stamp: Stamp
}

/// Identifies a logical request across its attempts. Later requests have larger ids.
typealias RequestID = Int
