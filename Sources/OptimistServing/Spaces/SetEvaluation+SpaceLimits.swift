// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The limits of spaces, judged after the whole push. A write that lowers a count is always allowed.
extension SetEvaluation {
    func faultsOfLimits(in place: Int, _ rows: WorkingRows) throws -> [Int: [Row: SetError]] {
        let (types, limits) = (context.spaceTypes, context.spaceLimits)
        guard context.schema.types[types.member] != nil else { return [:] }
        switch books[place].access {
        case .operator, .uninvited, .visitor: return [:]
        case .own: return try faults(of: types.space, beyond: limits.spaces, in: place, rows)
        case .service where SpaceAccount.space(of: books[place].account) == nil:
            return try faults(of: types.space, beyond: limits.spaces, in: place, rows)
        case .founding, .joining, .member, .service: break
        }
        var faults = try faults(of: types.invitation, beyond: limits.invitations, in: place, rows)
        faults.merge(try faultsOfMembers(in: place, rows)) { $0.merging($1) { first, _ in first } }
        let new = try newborn(in: place, rows)
        let growth = try rows.order.reduce(0) { try $0 + self.growth(of: $1, in: place, rows) }
        if growth > 0, books[place].snapshot.rowCount + growth > limits.rows {
            let error = SetError("overQuota", "A space may have at most \(limits.rows) rows.")
            faults.merge(self.faults(error, of: new)) { $0.merging($1) { first, _ in first } }
        }
        return faults
    }

    private func faultsOfMembers(in place: Int, _ rows: WorkingRows) throws -> [Int: [Row: SetError]] {
        guard let roles = try rolesAfter(place, rows) else { return [:] }
        let (book, limits) = (books[place], context.spaceLimits)
        let members = members(in: place)
        if roles.count > limits.members, try roles.count > book.snapshot.members().count {
            return faults(.spaceLimit("A space may have at most \(limits.members) members."), of: members)
        }
        guard book.access.isEntering, let count = context.spaces else { return [:] }
        let entered = books.count { $0.access.isEntering }
        if count.all + entered > limits.spaces {
            return faults(.spaceLimit("A person may be in at most \(limits.spaces) spaces."), of: members)
        }
        let founded = books.count { $0.access == .founding }
        if book.access == .founding, count.owned + founded > limits.ownedSpaces {
            return faults(.spaceLimit("A person may own at most \(limits.ownedSpaces) spaces."), of: members)
        }
        return [:]
    }

    private func faults(
        of type: String, beyond limit: Int, in place: Int, _ rows: WorkingRows
    ) throws -> [Int: [Row: SetError]] {
        let growth = try rows.order.filter { $0.type == type }.reduce(0) {
            try $0 + self.growth(of: $1, in: place, rows)
        }
        guard growth > 0, try books[place].snapshot.livingCount(type: type) + growth > limit else { return [:] }
        let new = try newborn(in: place, rows).filter { $0.key.type == type }
        return faults(.spaceLimit("There may be at most \(limit) rows of \"\(type)\"."), of: new)
    }

    /// The operations that give an account one more living row.
    private func newborn(in place: Int, _ rows: WorkingRows) throws -> [RowOperation] {
        try operations.filter { try $0.book == place && growth(of: $0.key, in: place, rows) > 0 }
    }

    /// How many more living rows there are because of one row: 1, 0 or -1.
    private func growth(of key: RowKey, in place: Int, _ rows: WorkingRows) throws -> Int {
        guard let working = rows.rows[key] else { return 0 }
        return try (working.row.isAlive ? 1 : 0) - (books[place].reader.row(key)?.row.isAlive == true ? 1 : 0)
    }
}

extension SetError {
    fileprivate static func spaceLimit(_ why: String) -> SetError { SetError("spaceLimit", why) }
}
