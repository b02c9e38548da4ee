// This source file is part of the Optimist open source project, under the MIT licence.

/// Whose rows an account has.
@_spi(Internals) public enum AccountKind: String, Hashable, Sendable {
    /// One person's.
    case person
    /// The members' of a space.
    case space
    /// The members' of a space that every person may read.
    case publicSpace = "public"

    /// Reads a stored kind. A later version may know more kinds, so only members may open an unknown one.
    public init(text: String) { self = AccountKind(rawValue: text) ?? .space }
}
