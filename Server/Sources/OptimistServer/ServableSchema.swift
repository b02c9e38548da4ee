// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
public import OptimistWire

extension Schema {
    /// Reads a schema that this server can keep its word for.
    ///
    /// - Parameter text: The JSON of a schema file.
    /// - Throws: ``OptimistError`` with code `schemaConflict` and a sentence that names the place: when it is no schema,
    ///   contradicts itself, or asks for what this version of the server does not know. Nothing is silently ignored.
    public init(servable text: some Sequence<UInt8>) throws {
        let json: JSON
        do { json = try JSON(parsing: text) } catch {
            throw OptimistError(.schemaConflict, "The schema is no JSON: \(error).", cause: error)
        }
        try Self.refuseUnknown(json)
        do { self = try Schema(json: json) } catch {
            throw OptimistError(.schemaConflict, error.description, cause: error)
        }
        try checkServable()
    }

    /// Checks what can be seen in the schema itself.
    func checkServable() throws {
        do { try check() } catch { throw OptimistError(.schemaConflict, error.description, cause: error) }
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
    }

    private static func check(_ columns: [String: ColumnSchema], of type: String) throws {
        var names: Set<String> = ["id"]
        for (column, definition) in columns.sorted(by: { $0.key < $1.key }) {
            guard names.insert(column.lowercased()).inserted else {
                throw OptimistError(.schemaConflict, "\(type) has two columns \"\(column.lowercased())\".")
            }
            if definition.type == .blob { throw notYet("\(type).\(column)", "columns of type \"blob\"") }
        }
    }

    // MARK: - What the format has no word for

    private static let members: Set = ["id", "version", "minClientVersion", "types"]
    private static let typeMembers: Set = ["@unique", "@editWins", "@minClientVersion", "@was"]
    private static let columnMembers: Set = ["type", "required", "maxBytes", "to", "onDelete", "was"]

    private static func refuseUnknown(_ json: JSON) throws {
        try refuseUnknown(json, beside: members, "The schema")
        for (type, definition) in json["types"]?.object?.members ?? [] {
            for (member, column) in definition.object?.members ?? [] {
                if member.hasPrefix("@") {
                    guard typeMembers.contains(member) else { throw notYet(type, "\"\(member)\"") }
                } else if column["type"] == nil {
                    throw notYet(type, "\"\(member)\"")
                } else {
                    try refuseUnknown(column, beside: columnMembers, "\(type).\(member)")
                }
            }
        }
    }

    private static func refuseUnknown(_ json: JSON, beside known: Set<String>, _ place: String) throws {
        guard let unknown = json.object?.members.first(where: { !known.contains($0.key) }) else { return }
        throw notYet(place, "\"\(unknown.key)\"")
    }

    private static func notYet(_ place: String, _ what: String) -> OptimistError {
        OptimistError(.schemaConflict, "\(place) asks for \(what), which this server cannot do yet.")
    }
}
