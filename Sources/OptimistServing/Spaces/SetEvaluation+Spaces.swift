// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

extension SetEvaluation {
    var rules: SpaceRules { SpaceRules(schema: context.schema, types: context.spaceTypes) }

    /// Why the reader may not write a row. Nil: the reader may.
    func objectionOfSpace(to operation: RowOperation) throws -> SetError? {
        let rules = rules
        guard rules.areNeeded else { return nil }
        let book = books[operation.book]
        if let source = operation.source { return objectionToMove(operation, from: books[source], to: book) }
        let isMember = operation.key.type == context.spaceTypes.member
        let stored = isMember ? try book.reader.row(operation.key) : nil
        return rules.objection(
            to: SpaceRules.Write(
                operation: operation, account: book.account, access: book.access,
                owner: stored?.memory.person,
                // Writes to a merged row are applied to the other row.
                generation: stored?.memory.mergedInto == nil ? stored?.row.generation ?? 0 : 0, person: context.person,
                members: members(in: operation.book).map(\.key), now: clock.date))
    }

    /// The operations on member rows.
    func members(in place: Int) -> [RowOperation] {
        operations.filter { $0.book == place && $0.key.type == context.spaceTypes.member }
    }

    private func objectionToMove(_ operation: RowOperation, from source: Book, to destination: Book) -> SetError? {
        func write(_ book: Book) -> SpaceRules.Write {
            SpaceRules.Write(
                operation: operation, account: book.account, access: book.access, person: context.person,
                now: clock.date)
        }
        return rules.objection(toMoveFrom: write(source), to: write(destination))
    }

    /// The operation in the form that is merged.
    func settled(_ operation: RowOperation) -> RowOperation {
        rules.withoutOwnRole(operation, of: books[operation.book].access)
    }

    /// Notes the person whose member row it is, or who invites. The person comes from the request's token, never from
    /// the row.
    func note(_ row: inout RowEvaluation) {
        let types = context.spaceTypes
        guard row.key.type == types.member || row.key.type == types.invitation, row.memory.person == nil,
            row.row.isAlive, let person = context.person
        else { return }
        row.noteOwner(person)
    }

    /// Writes the columns that the server decides. The answer has the values that differ from the sender's.
    mutating func decide(_ row: inout RowEvaluation, after operation: RowOperation, _ step: inout RowStep) {
        guard rules.areNeeded, case .merged(let life, let lost) = step, row.row.generation == life else { return }
        let values = rules.decided(
            row.row, of: row.key.type, stored: row.stored?.row,
            isOwn: context.person != nil && row.memory.person == context.person,
            books[operation.book].access, at: clock.date)
        guard !values.isEmpty, let changed = row.amend(values, &clock) else { return }
        step = .merged(life: life, lost: lost.union(changed))
    }

    // MARK: - One row for each member

    /// Merges a person's second member row into the first. A person who leaves and joins again in one push keeps the
    /// role.
    func mergeOwnMembers(in place: Int, _ consequences: inout Consequences) throws {
        guard rules.areNeeded, let person = context.person else { return }
        let type = context.spaceTypes.member
        let membership = books[place].access.membership
        var first = membership.map { RowKey(type, $0.memberID) }
        for key in consequences.rows.order where key.type == type && key != first {
            guard let working = consequences.rows.rows[key], working.row.isAlive, working.memory.person == person
            else { continue }
            if let first, try consequences.rows.row(first)?.isAlive == true {
                try consequences.merge(key, into: first, working.cause)
            } else {
                first = key
                guard let role = membership?.role else { continue }
                try consequences.put(.string(role.rawValue), key, SpaceTypes.role, working.cause)
            }
        }
    }

    /// Counts one use of the invitation with which the person joins.
    func countUse(in place: Int, _ consequences: inout Consequences) throws {
        guard case .joining(let invitation) = books[place].access, let person = context.person else { return }
        let own = consequences.rows.order.first { key in
            guard key.type == context.spaceTypes.member, let working = consequences.rows.rows[key] else { return false }
            return working.row.isAlive && working.memory.person == person
        }
        guard let own, let cause = consequences.rows.rows[own]?.cause else { return }
        try consequences.put(.int(invitation.used + 1), invitation.key, SpaceTypes.used, cause)
    }

    // MARK: - After the whole push

    /// The roles of an account's members after the push, by person. Nil: the push changes no member row.
    func rolesAfter(_ place: Int, _ rows: WorkingRows) throws -> [String: Role]? {
        guard rules.areNeeded else { return nil }
        let changed = rows.order.filter { $0.type == context.spaceTypes.member }
        guard !changed.isEmpty || books[place].access.isEntering else { return nil }
        let former = try books[place].snapshot.members()
        var roles = Dictionary(former.map { ($0.person, $0.role) }, uniquingKeysWith: { $1 })
        let ids = Set(former.map(\.memberID))
        let present = changed.compactMap { rows.rows[$0] }.filter(\.row.isAlive)
        for key in changed where ids.contains(key.id) && rows.rows[key]?.row.isAlive == false {
            if let person = rows.rows[key]?.memory.person { roles[person] = nil }
        }
        for member in present {
            if let person = member.memory.person { roles[person] = member.row.role }
        }
        return roles
    }

    /// The units that would leave a space without an owner, or that write to a space that their sender does not enter.
    func faultsOfOwners(in place: Int, _ rows: WorkingRows) throws -> [Int: [Row: SetError]] {
        guard let roles = try rolesAfter(place, rows) else { return [:] }
        let members = members(in: place)
        let hasEntered = context.person.map { roles[$0] != nil } ?? !roles.isEmpty
        if books[place].access.isEntering, !hasEntered {
            return faults(
                .notEntered(members.map(\.key)), of: operations.filter { $0.book == place || $0.source == place })
        }
        if roles.isEmpty || roles.values.contains(.owner) { return [:] }
        return faults(SetError("lastOwner", "The space would have members, but no owner."), of: members)
    }

    func faults(_ error: SetError, of operations: [RowOperation]) -> [Int: [Row: SetError]] {
        var faults: [Int: [Row: SetError]] = [:]
        for operation in operations {
            guard let unit = units.number(of: operation.key), !units.hasFailed(unit) else { continue }
            faults[unit, default: [:]][Row(book: operation.book, key: operation.key)] = error
        }
        return faults
    }

    /// The changes, with the effect of each member row on the index of members.
    func indexingMembers(_ changes: [RowChange], in place: Int, _ rows: WorkingRows) throws -> [RowChange] {
        guard let roles = try rolesAfter(place, rows) else { return changes }
        return changes.map { change in
            guard change.key.type == context.spaceTypes.member, let person = change.memory.person,
                change.row.isAlive || change.memory.mergedInto == nil
            else { return change }
            var change = change
            change.membership = MembershipChange(
                person: person, memberID: change.key.id, role: change.row.role,
                end: change.row.isAlive ? nil : roles.isEmpty ? .deleted : person == context.person ? .left : .removed)
            return change
        }
    }
}

extension ServerClock {
    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

extension MergeRow {
    var role: Role { Role(text: cells[SpaceTypes.role]?.value.string) }
}
