// This source file is part of the Optimist open source project, under the MIT licence.

/// The people who may create an account.
public enum SignUpMode: String, Sendable, CaseIterable, Codable {
    /// Anybody.
    case open
    /// People with an invitation, which is good for one account.
    case invited
    /// No one. Those who have an account sign in as ever.
    case closed
}
