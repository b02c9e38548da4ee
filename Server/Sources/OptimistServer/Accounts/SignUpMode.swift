// This source file is part of the Optimist open source project, under the MIT licence.

/// Who may make an account.
public enum SignUpMode: String, Sendable, CaseIterable, Codable {
    /// Anybody.
    case open
    /// Whoever has an invitation, which is good for one account.
    case invited
    /// Nobody. Those who have an account sign in as ever.
    case closed
}
