// This source file is part of the Optimist open source project, under the MIT licence.

/// The people who may create an account.
public enum SignUpMode: String, Sendable, CaseIterable, Codable {
    /// Anyone.
    case open
    /// People with an invitation, which is valid for one account.
    case invited
    /// No new accounts. Existing users can still sign in.
    case closed
}
