// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// How long the tests take that draw at random, kill at every step or count to a million: in a run of all tests they are
/// short, by themselves they are full, and a soak takes hours.
public enum TestForm: Sendable {
    /// `OPTIMIST_TESTS` is `short`, `full` or `soak`. Default: `full`.
    case short, full, soak

    public static let present: TestForm =
        switch ProcessInfo.processInfo.environment["OPTIMIST_TESTS"] {
        case nil, "full": .full
        case "short": .short
        case "soak": .soak
        case let other?: preconditionFailure("OPTIMIST_TESTS is \(other), and should be short, full or soak.")
        }

    /// Returns what the present form asks for.
    ///
    /// - Parameter soak: Default: as in full.
    public static func of<Amount>(short: Amount, full: Amount, soak: Amount? = nil) -> Amount {
        switch present {
        case .short: short
        case .full: full
        case .soak: soak ?? full
        }
    }
}
