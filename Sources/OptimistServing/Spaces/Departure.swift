// This source file is part of the Optimist open source project, under the MIT licence.

/// What happens to a space when the account of one of its members, or former members, is deleted.
@_spi(Internals) public enum Departure: Hashable, Sendable {
    /// The person is the only member, or the only owner of a space that no other member inherits. So the space ends.
    case ends
    /// The space stays, with the rows that the person wrote. The heir becomes an owner, if there is no other.
    case leaves(heir: Membership?)

    /// - Parameters:
    ///   - members: The members of the space, with or without the person.
    ///   - isInherited: Whether another member becomes an owner if there is no other. A public space always gets one.
    init(of person: String, from members: [Membership], _ kind: AccountKind, isInherited: Bool) {
        let others = members.filter { $0.person != person }
        if others.isEmpty {
            self = kind == .publicSpace ? .leaves(heir: nil) : .ends
        } else if others.contains(where: { $0.role == .owner }) {
            self = .leaves(heir: nil)
        } else if !isInherited && kind != .publicSpace {
            self = .ends
        } else {
            self = .leaves(heir: others.min { $0.seniority < $1.seniority })
        }
    }
}

extension Membership {
    /// Writers come before readers, and then the longest-standing member first.
    fileprivate var seniority: (Int, Int64, String) { (role == .writer ? 0 : 1, joinedSeq, person) }
}
