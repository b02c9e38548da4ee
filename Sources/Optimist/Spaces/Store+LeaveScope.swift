// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// Removes a space from this device after the person's access has ended, in one transaction (P8). Does nothing if
    /// the scope no longer belongs to the space.
    ///
    /// Does not ask the app as for a mass removal, because the person may no longer keep the rows. The person's row of
    /// the space is deleted as if by the user, so that the person's other devices and the server learn of it. But if the
    /// person has accepted another link meanwhile, the device joins again.
    func leaveScope(_ number: Int64, of space: String, _ end: EndedAccess) async throws {
        let now = milliseconds
        try await apply { db in
            let scope = try Scope.fetch(number, in: db)
            guard scope.space == space, let id = UUIDForm.bytes.stored(space) else { return }
            let next = try Self.nextMember(in: scope, db)
            try self.purge(scope, end, keeping: next, in: db, at: now)
            self.capture.begin(as: .user, milliseconds: self.correctedMilliseconds)
            if next == nil { try db.execute(sql: "DELETE FROM optimist_space WHERE id = ?", arguments: [id]) }
        }
    }

    /// Whether the person has left the space: on this device, which deleted the member row, or on another one, which
    /// deleted the person's row of the space.
    func hasLeft(_ scope: Int64) async throws -> Bool {
        try await read { db in
            let sql = """
                SELECT EXISTS (SELECT 1 FROM optimist_scope o WHERE o.number = ? AND o.member IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM optimist_member m JOIN optimist_space s ON s.id = o.space
                WHERE m.id = o.member))
                """
            return try Bool.fetchOne(db, sql: sql, arguments: [scope]) ?? false
        }
    }

    /// The unsent member row of a person who joins again.
    private static func nextMember(in scope: Scope, _ db: Database) throws -> DatabaseValue? {
        try DatabaseValue.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT m.id FROM optimist_member m JOIN optimist_edit e ON e.id = m.id AND e.tbl = \(SpaceTables.members)
                    WHERE m.space = ? AND m.ticket IS NOT NULL AND m.id IS NOT ?
                    """),
            arguments: [
                scope.space.flatMap(UUIDForm.bytes.stored), scope.member.flatMap(UUIDForm.bytes.stored),
            ])
    }

    /// Removes the rows of a space that the server does not let the person found or join. The refused rows of the space
    /// and of the person's membership are gone already.
    func leaveRefusedSpaces(in db: Database, at now: Int64) throws {
        if !hasSpaces { return }
        let refused = try Int64.fetchAll(
            db.cachedStatement(
                sql: """
                    \(Self.notEntered) AND NOT EXISTS (SELECT 1 FROM optimist_space s WHERE s.id = o.space)
                    """))
        for number in refused { try purge(try Scope.fetch(number, in: db), EndedAccess(.refused), in: db, at: now) }
    }

    /// Removes the spaces that the person left before the device had sent anything of them. The server will never confirm
    /// it.
    func leaveUnsentSpaces() async throws {
        let now = milliseconds
        guard try await !read({ try Int64.fetchAll($0, sql: Self.notEntered).isEmpty }) else { return }
        try await apply { db in
            let scopes = try Int64.fetchAll(db, sql: Self.notEntered).map { try Scope.fetch($0, in: db) }
            for scope in scopes { try self.purge(scope, EndedAccess(.left), in: db, at: now) }
            self.capture.begin(as: .user, milliseconds: self.correctedMilliseconds)
            for scope in scopes {
                try db.execute(
                    sql: "DELETE FROM optimist_space WHERE id = ?",
                    arguments: [scope.space.flatMap(UUIDForm.bytes.stored)])
            }
        }
    }

    /// Settles the spaces that another device of the person has left, and whose member row this device still has.
    ///
    /// A server that went back has forgotten that the person left, so the device leaves again. The last owner of other
    /// members cannot leave. Otherwise the person has joined again since, and the row of the space returns.
    func finishDepartures() async throws {
        let left = try await read { try Int64.fetchAll($0.cachedStatement(sql: Self.leftElsewhere)) }
        if left.isEmpty { return }
        try await apply { db in
            self.capture.begin(as: .user, milliseconds: self.correctedMilliseconds)
            for number in left {
                try db.execute(
                    sql: """
                        DELETE FROM optimist_member WHERE id = (SELECT member FROM optimist_scope WHERE number = ?1)
                        AND (SELECT json_array_length(epochs) FROM optimist_scope WHERE number = ?1) > 1
                        AND (coalesce(role, '') <> 'owner' OR EXISTS (SELECT 1 FROM optimist_member m
                        WHERE m.space = optimist_member.space AND m.id <> optimist_member.id AND m.role = 'owner')
                        OR NOT EXISTS (SELECT 1 FROM optimist_member m
                        WHERE m.space = optimist_member.space AND m.id <> optimist_member.id))
                        """, arguments: [number])
                if db.changesCount > 0 { continue }
                try db.execute(
                    sql: "INSERT INTO optimist_space(id) SELECT space FROM optimist_scope WHERE number = ?",
                    arguments: [number])
            }
        }
        writes.send()
    }

    /// The scopes with a member row on this device, whose space another device has deleted from the person's spaces. The
    /// server has confirmed the member row: without that, the person may not be a member.
    private static let leftElsewhere = """
        SELECT number FROM optimist_scope o JOIN optimist_member m ON m.id = o.member
        JOIN optimist_remote c ON c.id = o.member AND c.tbl = \(SpaceTables.members) AND c.seq > 0
        JOIN optimist_remote r ON r.id = o.space AND r.tbl = \(SpaceTables.spaces)
        WHERE r.generation > 0 AND r.generation & 1 = 0
        AND NOT EXISTS (SELECT 1 FROM optimist_space s WHERE s.id = o.space)
        """

    /// The scopes whose member row is neither here nor on its way, and which the server never had. A page of the space
    /// may name the row before the page with the row arrives.
    private static let notEntered = """
        SELECT number FROM optimist_scope o WHERE space IS NOT NULL AND member IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM optimist_member m WHERE m.id = o.member)
        AND NOT EXISTS (SELECT 1 FROM optimist_remote r
        WHERE r.id = o.member AND r.tbl = \(SpaceTables.members) AND r.seq > 0)
        AND NOT EXISTS (SELECT 1 FROM optimist_edit e WHERE e.id = o.member AND e.tbl = \(SpaceTables.members))
        AND NOT EXISTS (SELECT 1 FROM optimist_progress p WHERE p.scope = o.number
        AND coalesce(p.cursor, p.snapshot, p.place) IS NOT NULL)
        """

    /// - Parameter next: A member row to keep, in a new scope of the space.
    private func purge(
        _ scope: Scope, _ end: EndedAccess, keeping next: DatabaseValue? = nil, in db: Database, at now: Int64
    ) throws {
        let id = scope.space.flatMap(UUIDForm.bytes.stored)
        let name = try String.fetchOne(db, sql: "SELECT name FROM optimist_space WHERE id = ?", arguments: [id])
        var purge = SpacePurge(
            scope, try Door(layouts, db, at: now), layouts, device: try DeviceIdentity.current(in: db))
        let unsent = try purge.run(end, keeping: next)
        try PageApplication(layouts, db, at: now, PageContext(hasMore: true)).releaseClaims()
        guard let space = scope.space.flatMap(UUID.init) else { return }
        ends.send(SpaceEnd(space: space, name: name, reason: end.reason, unsent: unsent), after: db)
    }
}

/// Removes the rows of one space, and everything that the engine knows of them. Unsent edits become rejections.
private struct SpacePurge {
    private let scope: Scope
    private var door: Door
    /// The shared tables, parents first.
    private let layouts: [TableLayout]
    private let device: String

    init(_ scope: Scope, _ door: Door, _ layouts: [TableLayout], device: String) {
        self.scope = scope
        self.door = door
        self.device = device
        self.layouts = SnapshotOrder.sorted(layouts).filter { $0.isKept(in: scope.number) }
    }

    private var db: Database { door.db }

    /// - Parameter next: A member row that stays.
    /// - Returns: The number of the app's rows with unsent edits.
    mutating func run(_ end: EndedAccess, keeping next: DatabaseValue?) throws -> Int {
        let joining = try next.flatMap(memberRow)
        if var entry = joining {
            entry.remote.hear(in: Scope.personal)
            try door.entries.save(entry)
        }
        let (unsent, moved) = try unsentRows(without: joining?.ref)
        let refusal = RemotePush.Refusal(code: "accessRevoked", message: end.message)
        let rejected = try reject(unsent, refusal)
        for var entry in unsent {
            // Rows that were never sent are in no scope yet.
            entry.remote.hear(in: scope.number)
            try door.entries.save(entry)
        }
        let undone = try moved.count { try bringBack($0, refusal) }
        try setAsideRowsOfOtherScopes()
        try forgetValuesOfOthers()
        try db.deferringForeignKeys {
            for layout in layouts.reversed() {
                try db.execute(
                    sql: """
                        DELETE FROM \(layout.quotedName) WHERE id IN
                        (SELECT id FROM optimist_remote WHERE tbl = ? AND scope = ?)
                        """, arguments: [layout.number, scope.number])
            }
        }
        try forget()
        if let joining { try begin(with: joining) }
        return rejected + undone
    }

    /// Parks the rows of other scopes that the app's table has below rows of the space, until their parents exist again.
    /// SQLite would delete them with the space. The device has yet to hear that their parents have moved, too.
    private mutating func setAsideRowsOfOtherScopes() throws {
        for layout in layouts {
            for referrer in door.references.referrers(to: layout.name) {
                let parents = try DatabaseValue.fetchAll(
                    db,
                    sql: """
                        SELECT DISTINCT p.id FROM optimist_remote p
                        JOIN \(referrer.layout.quotedName) c ON c.\(referrer.column.name.quotedDatabaseIdentifier) = p.id
                        JOIN optimist_remote r ON r.tbl = ? AND r.id = c.id AND r.scope <> p.scope
                        WHERE p.tbl = ? AND p.scope = ?
                        """, arguments: [referrer.layout.number, layout.number, scope.number])
                for parent in parents { try door.delete(RowRef(table: layout.number, id: parent), .takenBack) }
            }
        }
        try Store.receiveAnew(door.toReceive, of: layouts, in: db)
    }

    private func memberRow(_ id: DatabaseValue) throws -> RowEntry? {
        try layouts.first { $0.name == MemberRow.databaseTableName }.flatMap { layout in
            try door.entries.entry(RowRef(table: layout.number, id: id))
        }
    }

    /// Begins a new scope of the space. If the member row was sent already, it is in that scope.
    private mutating func begin(with member: RowEntry) throws {
        try db.execute(
            sql: """
                INSERT INTO optimist_scope(space, member, ticket) SELECT ?, id, ticket FROM optimist_member WHERE id = ?
                """, arguments: [scope.space.flatMap(UUIDForm.bytes.stored), member.ref.id])
        if !member.isPlaced { return }
        var placed = member
        placed.remote.hear(in: db.lastInsertedRowID)
        try door.entries.save(placed)
    }

    private func forget() throws {
        for table in ["optimist_edit", "optimist_counter", "optimist_unknown", "optimist_wait"] {
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE EXISTS (SELECT 1 FROM optimist_remote r
                    WHERE r.tbl = \(table).tbl AND r.id = \(table).id AND r.scope = ?)
                    """, arguments: [scope.number])
        }
        for table in ["optimist_remote", "optimist_parked", "optimist_unseen", "optimist_progress"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE scope = ?", arguments: [scope.number])
        }
        // A later scope may get this number.
        try db.execute(
            sql: "UPDATE optimist_remote SET departure = NULL WHERE json_extract(departure, '$[0]') = ?",
            arguments: [scope.number])
        try db.execute(sql: "DELETE FROM optimist_scope WHERE number = ?", arguments: [scope.number])
        try GroupJoins(db).forgetSettled()
    }

    /// The journal has every column of deleted rows, and the device has the secrets of its invitations.
    private func forgetValuesOfOthers() throws {
        try db.execute(
            sql: """
                UPDATE optimist_journal SET theirs = NULL, whole = NULL WHERE EXISTS (SELECT 1 FROM optimist_remote r
                WHERE r.tbl = optimist_journal.tbl AND r.id = optimist_journal.id AND r.scope = ?)
                """, arguments: [scope.number])
        try db.execute(
            sql: """
                DELETE FROM optimist_secret WHERE invitation IN (SELECT id FROM optimist_invitation WHERE space = ?)
                """, arguments: [scope.space.flatMap(UUIDForm.bytes.stored)])
    }

    // MARK: - Unsent edits

    /// The unsent rows of the space, and the rows of other scopes that the user has moved below a row of the space.
    /// A new row that was sent elsewhere before the user moved it counts as a row of the space.
    private func unsentRows(without kept: RowRef?) throws -> (inside: [RowEntry], moved: [RowEntry]) {
        var rows: (inside: [RowEntry], moved: [RowEntry]) = ([], [])
        for ref in try RowEntryTable.unsent(db) where layouts.contains(where: { $0.number == ref.table }) {
            guard ref != kept, let entry = try door.entries.entry(ref) else { continue }
            if try isInside(ref) {
                rows.inside.append(entry)
            } else if try isMoved(entry) {
                // A row without a confirmed life has no former values to go back to.
                if entry.remote.generation > 0 { rows.moved.append(entry) } else { rows.inside.append(entry) }
            } else if entry.remote.generation == 0, try isBelowInside(ref) {
                rows.inside.append(entry)
            }
        }
        return rows
    }

    /// Whether the user has moved a row of another scope into the space, or below a row of the space.
    private func isMoved(_ entry: RowEntry) throws -> Bool {
        if try namesSpace(entry.ref) { return true }
        return try parents(of: entry.ref).contains(where: isInside)
    }

    /// Whether the app's table has the row below a row of the space, although a row between them has moved away.
    private func isBelowInside(_ ref: RowRef) throws -> Bool {
        guard let parent = try parent(of: ref) else { return false }
        return try isInside(parent) || isBelowInside(parent)
    }

    private func namesSpace(_ ref: RowRef) throws -> Bool {
        guard let table = door.tables[ref.table], case .own(let column) = table.layout.rules.space else { return false }
        return try table.values(ref.id)?[column]?.string == scope.space
    }

    /// A row is where the server has it, or else where its parent is.
    private func isInside(_ ref: RowRef) throws -> Bool {
        let remote = try door.entries.entry(ref)?.remote ?? RemoteRow()
        if remote.generation > 0 || remote.scope != Scope.personal { return remote.scope == scope.number }
        if let parent = try parent(of: ref) { return try isInside(parent) }
        return try namesSpace(ref)
    }

    private func parent(of ref: RowRef) throws -> RowRef? {
        guard let table = door.tables[ref.table], let values = try table.values(ref.id) else { return nil }
        return door.tables.parent(by: values, in: table.layout)
    }

    private func root(of ref: RowRef) throws -> RowRef { try parent(of: ref).map(root) ?? ref }

    private func parents(of ref: RowRef) throws -> [RowRef] {
        guard let table = door.tables[ref.table], let values = try table.values(ref.id) else { return [] }
        return door.tables.owners(by: values, in: table)
    }

    /// Keeps the user's values in one rejection for each root row. The engine's own rows are not kept.
    ///
    /// - Returns: The number of rows that are kept.
    private func reject(_ unsent: [RowEntry], _ refusal: RemotePush.Refusal) throws -> Int {
        var count = 0
        var bundles: [RowRef: Int64] = [:]
        for entry in unsent {
            guard let table = door.tables[entry.ref.table], !SpaceTables.contain(table.layout.name),
                let taken = try TakenBack(entry, isLost: true, in: door)
            else { continue }
            let root = try root(of: entry.ref)
            let number = try RejectionTable(db).insert(
                entry.ref, taken.kind, refusal, mine: taken.mine, server: taken.restored, at: door.milliseconds,
                bundle: bundles[root])
            if bundles[root] == nil { bundles[root] = number }
            count += 1
        }
        return count
    }

    /// Undoes the references of a row in another scope to rows of the space. A rejection keeps the user's edits; it does
    /// not need a move that a restored server has lost.
    ///
    /// - Returns: Whether there is a rejection.
    private mutating func bringBack(_ entry: RowEntry, _ refusal: RemotePush.Refusal) throws -> Bool {
        guard let table = door.tables[entry.ref.table], let values = try table.values(entry.ref.id) else {
            return false
        }
        let columns = try table.layout.columns.filter { column in
            guard entry.dirty & column.mask != 0 else { return false }
            if .own(column.name) == table.layout.rules.space { return try namesSpace(entry.ref) }
            return try door.tables.owner(by: column, values[column.name]).map(isInside) ?? false
        }
        if columns.isEmpty { return false }
        let mine = JSONObject(columns.filter(entry.isEdited).map { ($0.name, values[$0.name] ?? .null) })
        var back = entry
        let rendering = back.takeBack(columns.reduce(0) { $0 | $1.mask }, in: table.layout)
        let passage = Passage(before: entry, entry: back, rendering: rendering)
        if !mine.isEmpty {
            try RejectionTable(db).insert(
                entry.ref, .update, refusal, mine: mine,
                server: TakenBack(passage, kind: .update, mine: mine).restored, at: door.milliseconds)
        }
        if let obstacle = try door.tryPass(passage) {
            _ = try door.setAside(passage, ParkedReason(obstacle), device: device)
        }
        return !mine.isEmpty
    }
}

extension EndedAccess {
    /// For the developer, in a rejection.
    fileprivate var message: String { "The access to the space has ended (\(reason))." }
}
