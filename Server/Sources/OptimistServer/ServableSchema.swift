// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
public import OptimistWire

extension Schema {
    /// Reads a schema that this server can keep its word for.
    ///
    /// References are checked when they are written. Deleting a row leaves the rows that refer to it as they are, so a
    /// schema that asks for more, by `onDelete`, is refused for now.
    ///
    /// - Parameter text: The JSON of a schema file.
    /// - Throws: ``OptimistError`` with code `schemaConflict` and a sentence that names the place: when it is no schema,
    ///   or asks for what this version of the server does not do yet. Nothing is silently ignored.
    public init(servable text: some Sequence<UInt8>) throws {
        let json: JSON
        do { json = try JSON(parsing: text) } catch {
            throw OptimistError(.schemaConflict, "The schema is no JSON: \(error).", cause: error)
        }
        try Self.refuseUnsupported(json)
        do { self = try Schema(json: json) } catch {
            throw OptimistError(.schemaConflict, error.description, cause: error)
        }
        try checkServable()
    }

    /// Checks what can be seen in the schema itself.
    func checkServable() throws {
        var names: Set<String> = []
        for (type, definition) in types.sorted(by: { $0.key < $1.key }) {
            let lower = type.lowercased()
            guard !lower.hasPrefix("optimist_"), !lower.hasPrefix("sqlite_") else {
                throw OptimistError(
                    .schemaConflict, "The type \"\(type)\" has a name that the database keeps for itself.")
            }
            guard names.insert(lower).inserted else {
                throw OptimistError(
                    .schemaConflict, "Two types are called \"\(lower)\": capitals do not tell them apart.")
            }
            try Self.check(definition.columns, of: type)
        }
        guard version >= 1, minClientVersion <= version else {
            throw OptimistError(.schemaConflict, "\"version\" counts from 1, and \"minClientVersion\" is not above it.")
        }
    }

    private static func check(_ columns: [String: ColumnSchema], of type: String) throws {
        var names: Set<String> = ["id"]
        for (column, definition) in columns.sorted(by: { $0.key < $1.key }) {
            guard names.insert(column.lowercased()).inserted else {
                throw OptimistError(.schemaConflict, "\(type) has two columns \"\(column.lowercased())\".")
            }
            if definition.onDelete != nil { throw notYet("\(type).\(column)", "\"onDelete\"") }
            if definition.onDelete != nil { throw notYet("\(type).\(column)", "\"onDelete\"") }
            if definition.type == .counter || definition.type == .blob {
                throw notYet("\(type).\(column)", "columns of type \"\(definition.type.rawValue)\"")
            }
        }
    }

    /// What the schema format has words for and the server no deeds yet.
    private static let unsupported = ["onDelete", "unique", "uniqueIndexes", "indexes", "editWins", "counters"]

    private static func refuseUnsupported(_ json: JSON) throws {
        for word in unsupported where json[word] != nil { throw notYet("The schema", "\"\(word)\"") }
        for (type, columns) in json["types"]?.object?.members ?? [] {
            for word in unsupported {
                // A column may well have such a name; then it has a type.
                if let member = columns[word], member["type"] == nil { throw notYet(type, "\"\(word)\"") }
            }
            for (column, definition) in columns.object?.members ?? [] {
                for word in unsupported where definition[word] != nil {
                    throw notYet("\(type).\(column)", "\"\(word)\"")
                }
            }
        }
    }

    private static func notYet(_ place: String, _ what: String) -> OptimistError {
        OptimistError(.schemaConflict, "\(place) asks for \(what), which this server cannot do yet.")
    }
}
