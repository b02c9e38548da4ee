// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
@_spi(Internals) public import OptimistWire

/// A server's schema, updated from an app's database.
///
/// The update adds tables, columns, unique indexes and, from ``SyncRules``, former names. Existing declarations stay,
/// because a database cannot express everything: types, sizes, required columns, collision policies. Tables and columns
/// that the database does not have also stay, because older apps may have them.
@_spi(Internals) public struct SchemaUpdate: Sendable {
    /// The updated schema. Its version is one higher if anything changed.
    public private(set) var schema: Schema
    /// The changes made and the remaining differences, one sentence each.
    public private(set) var notes: [String] = []

    private let version: Int

    /// - Parameters:
    ///   - schema: The server's current schema, or a handwritten one.
    ///   - url: The app's database, which is opened read-only.
    ///   - version: The version of the result. Default: one higher if anything changed.
    /// - Throws: `OptimistError` with code `notADatabase` or `invalidTable`; `SchemaError` if the result is
    ///   inconsistent, for example if its version is not later than that of a former name.
    public init(of schema: Schema, exporting url: URL, version: Int? = nil) throws {
        let exported = try Schema(exporting: url, id: schema.id)
        let former = try StoreFile(url: url).reading { try FormerNameNote(in: $0) }
        try self.init(of: schema, from: exported, former, version: version)
    }

    init(of schema: Schema, from exported: Schema, _ former: FormerNameNote, version: Int? = nil) throws(SchemaError) {
        self.schema = schema
        self.version = schema.version
        for (table, definition) in exported.types.sorted(by: { $0.key < $1.key }) {
            let rules = former.rules[table] ?? SyncRules()
            follow(table, rules, beside: exported)
            guard let known = self.schema.types[table] else {
                self.schema.types[table] = definition
                notes.append("\(table) is new.")
                continue
            }
            self.schema.types[table] = merge(table, known, definition, rules)
        }
        for table in self.schema.types.keys.sorted() where exported.types[table] == nil {
            notes.append("The database does not have the table \(table). It stays in the schema.")
        }
        self.schema.version = version ?? (self.schema == schema ? schema.version : schema.version + 1)
        try self.schema.check()
    }

    // MARK: - Names

    /// Renames a type to its current name in the app.
    private mutating func follow(_ table: String, _ rules: SyncRules, beside exported: Schema) {
        guard schema.types[table] == nil,
            let name = rules.formerNames.first(where: { schema.types[$0] != nil && exported.types[$0] == nil })
        else { return }
        schema.types[table] = schema.types.removeValue(forKey: name)
        schema.types[table]?.formerNames.append(FormerName(name, until: version))
        for (type, definition) in schema.types {
            for (column, reference) in definition.columns where reference.target == name {
                schema.types[type]?.columns[column]?.target = table
            }
        }
        notes.append("\(table) was \(name) until version \(version).")
    }

    /// Renames a column to its current name in the app.
    private mutating func follow(
        _ column: String, _ rules: SyncRules, in type: inout TypeSchema, _ table: String, beside exported: TypeSchema
    ) {
        let names = rules.formerNames(ofColumn: column)
        guard let name = names.first(where: { type.columns[$0] != nil && exported.columns[$0] == nil }) else { return }
        type.columns[column] = type.columns.removeValue(forKey: name)
        type.columns[column]?.formerNames.append(FormerName(name, until: version))
        for index in type.uniqueIndexes.indices {
            type.uniqueIndexes[index].columns = type.uniqueIndexes[index].columns.map { $0 == name ? column : $0 }
        }
        notes.append("\(table).\(column) was \(name) until version \(version).")
    }

    // MARK: - Columns and indexes

    private mutating func merge(
        _ table: String, _ known: TypeSchema, _ exported: TypeSchema, _ rules: SyncRules
    ) -> TypeSchema {
        var type = known
        if exported.space != type.space {
            // A column that holds a space is a reference without a target only because of this rule.
            for case .own(let column)? in [type.space, exported.space] {
                if let definition = exported.columns[column] { type.columns[column]?.type = definition.type }
            }
            type.space = exported.space
            notes.append("The space of \(table) follows the app's code.")
        }
        for (column, definition) in exported.columns.sorted(by: { $0.key < $1.key }) {
            if type.columns[column] == nil { follow(column, rules, in: &type, table, beside: exported) }
            guard let present = type.columns[column] else {
                type.columns[column] = definition
                notes.append("\(table).\(column) is new.")
                continue
            }
            if present.rules != definition.rules {
                let takes = present.rules.isEmpty && present.type == definition.type
                if takes { type.columns[column]?.rules = definition.rules }
                notes.append(
                    "\(table).\(column) \(takes ? "has rules now" : "keeps its rules, which differ from the app's").")
            }
            if present.words == definition.words { continue }
            notes.append(
                "\(table).\(column) stays \(present.words). In the database it is \(definition.words).")
        }
        for column in type.columns.keys.sorted() where exported.columns[column] == nil {
            notes.append("The database does not have the column \(table).\(column). It stays in the schema.")
        }
        let indexes = Set(type.uniqueIndexes.map { Set($0.columns) })
        for index in exported.uniqueIndexes where !indexes.contains(Set(index.columns)) {
            type.uniqueIndexes.append(index)
            notes.append("\(table).\(index.columns.joined(separator: "+")) is unique.")
        }
        if exported.editWins, !type.editWins {
            type.editWins = true
            notes.append("In \(table), a later edit now restores a deleted row.")
        }
        return type
    }
}

extension ColumnSchema {
    /// Describes the properties of a column that a database can express.
    fileprivate var words: String {
        guard let target else { return type.rawValue }
        return "a reference to \(target)" + (onDelete.map { " with \($0.rawValue)" } ?? "")
    }
}
