// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The breaking changes from earlier versions of a schema to a new one. Renames are not breaking.
struct SchemaDifference {
    private(set) var costly: [(change: SchemaChange, effect: String)] = []
    /// Whether they need consent depends on the rows.
    private(set) var newIndexes: [(type: String, index: UniqueIndex)] = []

    private let schema: Schema

    /// - Parameters:
    ///   - earlier: The versions that may have stored rows, latest first.
    ///   - schema: The version that the server will serve.
    init(from earlier: [Schema], to schema: Schema) {
        self.schema = schema
        guard let latest = earlier.first else { return }
        let former = FormerSchema(latest, seenFrom: schema)
        for name in latest.types.keys.sorted() where former.present[name] == nil {
            add(
                .drop, name, [],
                "The table \(name) was removed. Its rows stay in the data, but apps can no longer send or receive them."
            )
        }
        for (name, type) in schema.types.sorted(by: { $0.key < $1.key }) {
            let known = former.type(name)
            if let known {
                compare(name, type, with: known.definition, known.columns)
            } else {
                newIndexes += type.uniqueIndexes.map { (name, $0) }
            }
            // A column that the latest version lacks may exist in an older version, with stored values.
            for (column, definition) in type.columns.sorted(by: { $0.key < $1.key })
            where known?.columns[column] == nil { compareWithOlder(name, column, definition, earlier.dropFirst()) }
        }
        costly.sort { $0.change.description < $1.change.description }
    }

    private mutating func add(_ kind: SchemaChange.Kind, _ type: String, _ columns: [String], _ effect: String) {
        costly.append((SchemaChange(kind, type, columns: columns), effect))
    }

    /// - Parameter former: The former columns, by their current names.
    private mutating func compare(
        _ name: String, _ type: TypeSchema, with known: TypeSchema, _ former: [String: FormerColumn]
    ) {
        let kept = Set(former.values.map(\.name))
        for column in known.columns.keys.sorted() where !kept.contains(column) {
            add(
                .drop, name, [column],
                "\(name).\(column) was removed. Apps can no longer change it, and rows with it stay pending on their devices."
            )
        }
        for (column, definition) in type.columns.sorted(by: { $0.key < $1.key }) {
            if let former = former[column] { compareType(name, column, definition, former) }
            guard definition.isRequired, former[column]?.definition.isRequired != true else { continue }
            add(
                .require, name, [column],
                "\(name).\(column) is now required. New rows without it are refused.")
        }
        let indexes = Set(known.uniqueIndexes.map { Set($0.columns) })
        for index in type.uniqueIndexes {
            let names = Set(index.columns.map { former[$0]?.name ?? "" })
            if !indexes.contains(names) { newIndexes.append((name, index)) }
        }
    }

    private mutating func compareWithOlder(
        _ name: String, _ column: String, _ definition: ColumnSchema, _ older: ArraySlice<Schema>
    ) {
        for version in older {
            guard let former = FormerSchema(version, seenFrom: schema).type(name)?.columns[column] else { continue }
            return compareType(name, column, definition, former)
        }
    }

    private mutating func compareType(
        _ name: String, _ column: String, _ definition: ColumnSchema, _ former: FormerColumn
    ) {
        let (was, isNow) = (former.kind, definition.kind(target: definition.target))
        if was == isNow { return }
        add(
            .retype, name, [column],
            "\(name).\(column) was \(was) and is now \(isNow). Rows keep their values; devices set aside values that do not fit."
        )
    }
}

/// An earlier version of a schema, with the names of a later version.
private struct FormerSchema {
    /// Current names by former names.
    let present: [String: String]
    private let former: Schema
    private let vocabulary: Vocabulary

    init(_ former: Schema, seenFrom schema: Schema) {
        self.former = former
        vocabulary = Vocabulary(schema, version: former.version)
        var present: [String: String] = [:]
        for name in schema.types.keys {
            let known = vocabulary.formerType(name)
            // The former name of a renamed type may now belong to another type.
            guard former.types[known] != nil, vocabulary.presentType(known) == name else { continue }
            present[known] = name
        }
        self.present = present
        names = schema.types.mapValues { Array($0.columns.keys) }
    }

    private let names: [String: [String]]

    /// With the columns by their current names.
    func type(_ name: String) -> (definition: TypeSchema, columns: [String: FormerColumn])? {
        guard let known = present.first(where: { $0.value == name })?.key, let definition = former.types[known] else {
            return nil
        }
        var columns: [String: FormerColumn] = [:]
        for column in names[name] ?? [] {
            let known = vocabulary.formerColumn(column, of: name)
            guard let former = definition.columns[known], vocabulary.presentColumn(known, of: name) == column else {
                continue
            }
            let target = former.target.map { present[$0] ?? $0 }
            columns[column] = FormerColumn(name: known, definition: former, kind: former.kind(target: target))
        }
        return (definition, columns)
    }
}

private struct FormerColumn {
    var name: String
    var definition: ColumnSchema
    /// The type in words, with the current name of a reference's target.
    var kind: String
}

extension ColumnSchema {
    fileprivate func kind(target: String?) -> String { target.map { "a reference to \($0)" } ?? type.rawValue }
}
