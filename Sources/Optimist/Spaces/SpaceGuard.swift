// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

/// Refuses writes that the person's role in a space forbids, before a transaction of the app commits (P6).
///
/// The server judges again, because a role may have changed since the last page. A role that the device does not know
/// yet forbids nothing.
struct SpaceGuard {
    private let db: Database
    private let writes: SpaceWrites
    private let tables: AppTables
    private let entries: RowEntryTable
    private var homes: RowHomes
    private var roles: [Int64: SpaceRole?] = [:]

    /// Whether the writes cannot be in a space. An app without spaces needs this one statement for each transaction.
    static func isNeedless(for writes: SpaceWrites, in db: Database) throws -> Bool {
        if writes.namesSpace { return false }
        let sql = """
            SELECT NOT EXISTS (SELECT 1 FROM optimist_scope WHERE number <> 0)
            AND NOT EXISTS (SELECT 1 FROM optimist_space)
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql)) ?? false
    }

    init(_ writes: SpaceWrites, _ layouts: [TableLayout], _ db: Database) throws {
        self.writes = writes
        self.db = db
        tables = AppTables(layouts, db)
        entries = try RowEntryTable(db)
        homes = RowHomes(tables, entries)
        try Scope.followSpaces(layouts, in: db)
    }

    /// - Throws: `OptimistError` with code `unknownSpace`, `readOnlySpace`, `notOwner`, `lastOwner`, `crossesSpaces` or
    ///   `tooManyToMove`.
    mutating func check() throws {
        if !writes.moved.isEmpty {
            var relocation = Relocation(tables, entries, homes)
            try relocation.settle(writes.moved)
        }
        for anchor in writes.anchors {
            guard let table = tables[anchor.table], let scope = try scope(at: anchor.value, in: table.layout),
                !SpaceTables.contain(table.layout.name)
            else { continue }
            try requireWriter(in: scope, table.layout.name)
        }
        for (ref, former) in writes.roots {
            guard let table = tables[ref.table], !SpaceTables.contain(table.layout.name),
                let scope = try place(of: ref, former, in: table.layout)
            else { continue }
            try requireWriter(in: scope, table.layout.name)
        }
        for ref in writes.rows {
            guard let table = tables[ref.table] else { continue }
            if SpaceTables.contain(table.layout.name) {
                try checkMembership(ref, in: table)
            } else {
                try checkReferences(ref, in: table)
            }
        }
    }

    /// Nil for the personal account, and if a parent is not known.
    private mutating func scope(at value: DatabaseValue, in layout: TableLayout) throws -> Scope? {
        guard let anchor = layout.anchor else { return nil }
        switch try homes.target(of: [anchor.name: anchor.form.wire(value)], in: layout) {
        case .scope(let scope): return scope.number == Scope.personal ? nil : scope
        case .unknown(.unknownSpace):
            throw OptimistError(
                .unknownSpace,
                "\(layout.name).\(anchor.name) names a space that this person does not use. Nothing was written.")
        case .unknown: return nil
        }
    }

    /// Where a root row was before the transaction. Its column may still name a space that the row has left, until the
    /// next page of its present space. Nil: in the personal account.
    private mutating func place(of ref: RowRef, _ former: DatabaseValue, in layout: TableLayout) throws -> Scope? {
        guard let entry = try entries.entry(ref), entry.isPlaced else {
            return former.isNull ? nil : try scope(at: former, in: layout)
        }
        return entry.remote.scope == Scope.personal ? nil : try homes.scope(entry.remote.scope)
    }

    // MARK: - Roles

    private mutating func requireWriter(in scope: Scope, _ table: String) throws {
        guard let role = try role(in: scope), !role.mayWrite else { return }
        throw OptimistError(
            .readOnlySpace,
            "This person may only read the space, so \(table) cannot be changed there. Nothing was written.")
    }

    /// The role before this transaction, which may itself change the role. Nil if unknown.
    private mutating func role(in scope: Scope) throws -> SpaceRole? {
        if let known = roles[scope.number] { return known }
        let role = try ownRole(in: scope)
        roles[scope.number] = .some(role)
        return role
    }

    private func ownRole(in scope: Scope) throws -> SpaceRole? {
        guard let table = tables[MemberRow.databaseTableName], let column = table.layout[column: "role"],
            let id = scope.member.flatMap(table.layout.idForm.stored)
        else { return nil }
        let ref = RowRef(table: table.layout.number, id: id)
        if writes.formerOwners.contains(ref) { return .owner }
        guard let entry = try entries.entry(ref) else { return nil }
        let values = try table.values(id)
        // Until the server has admitted the person, the invitation's role is unknown.
        if entry.remote.generation == 0, values?[MemberRow.ticketColumn]?.string != nil { return nil }
        let isEdited = entry.isKnownToServer && entry.dirty & column.mask != 0
        let value = isEdited ? entry.baseValue(of: column) : values?[column.name]
        return value?.string.map { SpaceRole(rawValue: $0) }
    }

    // MARK: - Members and invitations

    private mutating func checkMembership(_ ref: RowRef, in table: AppTable) throws {
        guard let entry = try entries.entry(ref), entry.isPending else { return }
        let values = try table.values(ref.id)
        guard case .scope(let scope) = try homes.destination(of: entry, values, in: table.layout),
            scope.number != Scope.personal, let role = try role(in: scope)
        else { return }
        if writes.formerOwners.contains(ref) { try requireAnOwner(in: scope) }
        if role == .owner { return }
        if table.layout.name == MemberRow.databaseTableName {
            let isOwn = scope.isOwnMember(ref, in: table.layout)
            let changesRole = entry.isAlive && entry.isKnownToServer && entry.isEdited("role", in: table.layout)
            if isOwn, !changesRole { return }
            // A person who opens a link joins with another row, and may take it back.
            if !entry.isKnownToServer, values?["ticket"]?.string != nil || !entry.isAlive { return }
        }
        throw OptimistError(
            .notOwner, "Only an owner of the space may change its members and invitations. Nothing was written.")
    }

    private func requireAnOwner(in scope: Scope) throws {
        guard let space = scope.space.flatMap(UUIDForm.bytes.stored) else { return }
        let roles = try String?.fetchAll(
            db.cachedStatement(sql: "SELECT role FROM optimist_member WHERE space = ?"), arguments: [space])
        if roles.isEmpty || roles.contains(SpaceRole.owner.rawValue) { return }
        throw OptimistError(
            .lastOwner,
            "The space would have members, but no owner. Make another member an owner first. Nothing was written.")
    }

    // MARK: - References

    private mutating func checkReferences(_ ref: RowRef, in table: AppTable) throws {
        guard let values = try table.values(ref.id), let rule = table.layout.rules.space else { return }
        let home = try homes.home(of: ref)
        for column in table.layout.columns where column.name != rule.column {
            guard let owner = tables.owner(by: column, values[column.name]),
                tables[owner.table]?.layout.rules.space != nil
            else { continue }
            if try homes.home(of: owner) == home { continue }
            throw OptimistError(
                .crossesSpaces,
                "\(table.layout.name).\(column.name) refers to a row of another space. Nothing was written.")
        }
    }
}

extension RowEntry {
    fileprivate func isEdited(_ column: String, in layout: TableLayout) -> Bool {
        layout[column: column].map { dirty & $0.mask != 0 } ?? false
    }
}
