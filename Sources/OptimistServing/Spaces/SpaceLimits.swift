// This source file is part of the Optimist open source project, under the MIT licence.

/// How much of a server spaces may take.
public struct SpaceLimits: Hashable, Sendable {
    /// The most spaces that a person may be in. A person in more can neither found nor join one. Default: 1,000.
    public var spaces = 1_000
    /// The most spaces that a person may found while an owner of as many. Default: 100.
    public var ownedSpaces = 100
    /// The most members of a space. Default: 100. At most 10,000, because a change of members reaches all of them.
    public var members = 100
    /// The most invitations of a space, including used ones until an owner deletes them. Default: 100.
    public var invitations = 100
    /// The most living rows of a space. Default: 100,000.
    public var rows = 100_000

    /// Makes the default limits.
    public init() {}
}

/// In how many spaces a person is.
@_spi(Internals) public struct SpaceCount: Hashable, Sendable {
    public var all: Int
    public var owned: Int

    public init(all: Int = 0, owned: Int = 0) {
        self.all = all
        self.owned = owned
    }
}
