// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
@_spi(Internals) import OptimistWire

/// An invitation to a space, read from its row.
@_spi(Internals) public struct Invitation: Hashable, Sendable {
    public var key: RowKey
    /// The role of a person who joins.
    public var role: Role
    public var label: String?
    public var endsAt: Date
    /// How many persons have joined, of how many.
    public var used: Int64
    public var uses: Int64
    /// The person who made the invitation.
    var inviter: String?
    /// The transaction that made the invitation.
    var madeSeq: Int64

    /// Nil if the row is deleted, which revokes the invitation.
    init?(_ key: RowKey, _ stored: StoredRow) {
        guard stored.row.isAlive else { return nil }
        func value(_ column: String) -> JSON? { stored.row.cells[column]?.value }
        self.key = key
        role = Role(text: value(SpaceTypes.role)?.string)
        label = value("label")?.string
        endsAt = value(SpaceTypes.endsAt)?.string.flatMap(Date.init(utc:)) ?? .distantPast
        used = value(SpaceTypes.used)?.int ?? 0
        uses = value(SpaceTypes.uses)?.int ?? 1
        inviter = stored.memory.person
        madeSeq = stored.bornSeq
    }

    /// Whether a person may join, who once was a member or never.
    func admits(_ former: Membership?, at now: Date) -> Bool {
        guard used < uses, now < endsAt else { return false }
        guard let former, let end = former.end, madeSeq <= end.seq else { return true }
        // An owner who removed the person, or lowered the role, must have changed their mind since.
        return end.reason != .removed && former.role >= role
    }
}

extension Date {
    /// Reads a date's wire form, to the second.
    init?(utc text: String) {
        guard let date = try? Date(String(text.prefix(19)) + "Z", strategy: .iso8601) else { return nil }
        self = date
    }
}
