// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// The engine's row types, which sync like the app's types: a person's spaces, and the members and invitations of
/// each space.
@_spi(Internals) public struct SpaceTypes: Hashable, Sendable {
    /// In the person's own account: the spaces that the person uses. A row's id is the id of its space.
    public var space: String
    /// In a space: a row for each member.
    public var member: String
    /// In a space: the invitations. A deleted one is revoked.
    public var invitation: String

    public init(
        space: String = "optimist_space", member: String = "optimist_member",
        invitation: String = "optimist_invitation"
    ) {
        self.space = space
        self.member = member
        self.invitation = invitation
    }

    public var all: Set<String> { [space, member, invitation] }

    /// The schema with these types, if it lets rows be in spaces. Other schemas are unchanged.
    public func added(to schema: Schema) -> Schema {
        guard schema.types.values.contains(where: { $0.space != nil }) else { return schema }
        var schema = schema
        let name = ColumnSchema(.string, maxBytes: Self.maxNameBytes)
        schema.types[space] = TypeSchema(columns: ["name": name])
        var members = TypeSchema(columns: [
            "space": ColumnSchema(.ref), "name": name, Self.role: ColumnSchema(.string),
            Self.ticket: ColumnSchema(.data),
        ])
        members.space = .own("space")
        schema.types[member] = members
        var invitations = TypeSchema(
            columns: [
                "space": ColumnSchema(.ref), Self.role: ColumnSchema(.string), "label": name,
                Self.endsAt: ColumnSchema(.date),
                Self.uses: ColumnSchema(.int, rules: ColumnRules(min: 1, max: 10_000)),
                Self.used: ColumnSchema(.int), "hash": ColumnSchema(.data, isRequired: true),
            ], uniqueIndexes: [Entrances.index])
        invitations.space = .own("space")
        schema.types[invitation] = invitations
        return schema
    }

    /// The column with the role, in member rows and invitations.
    static let role = "role"
    /// The column of a member row with the secret of a link. It is only ever sent to the server, and never stored.
    static let ticket = "ticket"
    /// The columns of an invitation with its end, its number of uses, and how many of them are used. The server writes
    /// the last.
    static let endsAt = "endsAt"
    static let uses = "uses"
    static let used = "used"
    private static let maxNameBytes = 1_000
}
