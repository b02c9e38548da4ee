// This source file is part of the Optimist open source project, under the MIT licence.

/// What happens to a space when the account of one of its members, or former members, is deleted.
@_spi(Internals) public enum Departure: Hashable, Sendable {
    /// The person is the only member, so the space ends.
    case ends
    /// The space stays, with the rows that the person wrote. The heir becomes an owner, if there is no other.
    case leaves(heir: Membership?)

    /// - Parameter members: The members of the space, with or without the person.
    init(of person: String, from members: [Membership], _ kind: AccountKind) {
        let others = members.filter { $0.person != person }
        if others.isEmpty {
            self = kind == .publicSpace ? .leaves(heir: nil) : .ends
        } else if others.contains(where: { $0.role == .owner }) {
            self = .leaves(heir: nil)
        } else {
            self = .leaves(heir: others.min { $0.seniority < $1.seniority })
        }
    }
}

extension Membership {
    /// Writers come before readers, and then the longest-standing member first.
    fileprivate var seniority: (Int, Int64, String) { (role == .writer ? 0 : 1, joinedSeq, person) }
}
