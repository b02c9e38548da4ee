// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// The rows that a device shows, all read in one transaction.
struct SharingSnapshot: Equatable, Sendable {
    struct List: Codable, FetchableRecord, Equatable, Sendable {
        var id: UUID
        var title: String
        var space: UUID?
        var sync: String
    }

    struct Item: Codable, FetchableRecord, Equatable, Sendable {
        var id: UUID
        var listID: UUID
        var content: String
        var priority: Int
        var done: Bool
        var sync: String
    }

    var spaces: [Space] = []
    var members: [SpaceMember] = []
    var invitations: [SpaceInvitation] = []
    var lists: [List] = []
    var items: [Item] = []

    init() {}

    init(_ db: Database) throws {
        spaces = try Space.order(Column("name"), Column("id")).fetchAll(db)
        members = try SpaceMember.order(Column("name"), Column("id")).fetchAll(db)
        invitations = try SpaceInvitation.order(Column("endsAt").desc, Column("id")).fetchAll(db)
        lists = try List.fetchAll(db, sql: Self.rows(of: "list", order: "title, list.id"))
        items = try Item.fetchAll(db, sql: Self.rows(of: "item", order: "done, priority DESC, content, item.id"))
    }

    private static func rows(of table: String, order: String) -> String {
        """
        SELECT \(table).*, coalesce(state.state, 'synced') AS sync FROM \(table)
        LEFT JOIN optimist_state_\(table) state ON state.id = \(table).id ORDER BY \(order)
        """
    }
}
