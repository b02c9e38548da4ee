// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistServing
@_spi(Internals) package import OptimistWire

/// A consistent snapshot of a store's data, for a check.
package protocol CheckedData {
    func texts(_ query: CheckedQuery) throws -> [String]
    /// Calls `body` for each row, ordered by account, type and id, until it returns false.
    func forEachRow(_ body: (AuditedRow) throws -> Bool) throws
    /// By row id.
    func entries(of account: String, type: String) throws -> [String: Set<IndexEntry>]
    /// Returns nil if the account's index was not made for the current schema.
    func schema(of account: String) throws -> Schema?
    func stored(_ entry: IndexEntry) -> IndexEntry
}

package struct CheckedQuery: Sendable {
    /// Unique.
    package var name: String
    package var sql: String
}

package struct AuditedRow: Sendable {
    package var account: String
    package var type: String
    package var id: String
    package var isAlive: Bool
    package var content: [UInt8]
    package var hidden: [UInt8]?

    package init(account: String, type: String, id: String, isAlive: Bool, content: [UInt8], hidden: [UInt8]?) {
        self.account = account
        self.type = type
        self.id = id
        self.isAlive = isAlive
        self.content = content
        self.hidden = hidden
    }

    var place: String { "\(account) \(type) \(id)" }

    var isReadable: Bool {
        (try? JSON(parsing: content))?.object != nil && hidden.map { (try? JSON(parsing: $0)) != nil } ?? true
    }
}

/// Checks that each row can be read and that the index agrees with it.
struct RowCheck<Source: CheckedData> {
    private let data: Source
    private(set) var problems: [String] = []
    /// The members of spaces, as their rows say: account, person, row and role.
    private(set) var members: Set<String> = []
    private var account: String?
    private var type: String?
    private var schema: Schema?
    private var definition: TypeSchema?
    /// For the current account and type, by row id.
    private var entries: [String: Set<IndexEntry>] = [:]

    init(_ data: Source) { self.data = data }

    /// - Returns: Whether to continue with the next row.
    mutating func look(at row: AuditedRow) throws -> Bool {
        if row.account != account || row.type != type { try enter(row) }
        let unreadable = "The content of a row cannot be read"
        guard row.isAlive, definition != nil || row.type == SpaceTypes().member else {
            return row.isReadable || add(unreadable, row)
        }
        guard
            let stored = StoredRow(content: row.content, hidden: row.hidden, seq: 0, ordinal: 0, bornSeq: 0)
        else { return add(unreadable, row) }
        if row.type == SpaceTypes().member, let person = stored.memory.person {
            let role = Role(text: stored.row.cells["role"]?.value.string)
            members.insert("\(row.account) \(person) \(row.id) \(role.rawValue)")
        }
        // The stored schema is the app's, which does not have the server's own types.
        guard let definition else { return true }
        let wanted = Set(definition.indexEntries(of: stored.row).map(data.stored))
        let found = entries[row.id] ?? []
        if !wanted.isSubset(of: found) { return add("An index lacks a row", row) }
        if !found.isSubset(of: wanted) { return add("An index has a value that its row does not have", row) }
        return true
    }

    private mutating func enter(_ row: AuditedRow) throws {
        if row.account != account { schema = try data.schema(of: row.account) }
        (account, type) = (row.account, row.type)
        definition = schema?.types[row.type]
        entries = definition == nil ? [:] : try data.entries(of: row.account, type: row.type)
    }

    private mutating func add(_ sentence: String, _ row: AuditedRow) -> Bool {
        problems.append("\(sentence): \(row.place).")
        return problems.count < DataCheck.mostProblems
    }
}
