// This source file is part of the Optimist open source project, under the MIT licence.

/// The effect of a person's deletion on spaces that the person alone owns and that have other members.
public enum OwnerlessSpaces: String, Sendable, CaseIterable, Codable {
    /// The longest-standing writer becomes an owner, or else reader.
    case inherit
    /// The space is deleted with its rows. A public space is inherited.
    case end
}
