// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The length of the tests that draw at random, kill at every step or count to a million: short in a run of all tests,
/// full on their own, and hours in a soak.
public enum TestForm: Sendable {
    /// From `OPTIMIST_TESTS`: `short`, `full` or `soak`. Default: `full`.
    case short, full, soak

    public static let present: TestForm =
        switch ProcessInfo.processInfo.environment["OPTIMIST_TESTS"] {
        case nil, "full": .full
        case "short": .short
        case "soak": .soak
        case let other?: preconditionFailure("OPTIMIST_TESTS is \(other), and should be short, full or soak.")
        }

    /// Returns the amount for the current form.
    ///
    /// - Parameter soak: Default: the same as full.
    public static func of<Amount>(short: Amount, full: Amount, soak: Amount? = nil) -> Amount {
        switch present {
        case .short: short
        case .full: full
        case .soak: soak ?? full
        }
    }
}
