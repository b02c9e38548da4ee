// This source file is part of the Optimist open source project, under the MIT licence.

/// Which credentials something was done with: the life of the session, and the number of the token pair in it.
///
/// An answer that carries an older stamp than the session's own changes nothing and is stored nowhere.
struct Stamp: Hashable, Comparable, Sendable {
    /// Counts sign-ins and sign-outs.
    var epoch: Int
    /// Counts token pairs within an epoch.
    var generation: Int

    var next: Self { Self(epoch: epoch, generation: generation + 1) }

    static func < (a: Self, b: Self) -> Bool { (a.epoch, a.generation) < (b.epoch, b.generation) }
}

/// The access token that one attempt carries.
struct Binding: Equatable, Sendable {
    var accessToken: Secret
    var stamp: Stamp
}

/// Names one logical request, however often it is sent. Larger came later.
typealias RequestID = Int
