// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) public import OptimistWire

extension Schema {
    package static let ofNoRows = Schema(id: "none", version: 1, types: [:])

    /// Parses a schema that this server can serve.
    ///
    /// - Parameter text: The JSON of a schema file.
    /// - Throws: ``OptimistError`` with code `schemaConflict` if the schema is malformed, contradicts itself, or uses a
    ///   feature or member that this server does not support. The message names the place of each fault.
    public init(servable text: some Sequence<UInt8>) throws {
        let bytes = Array(text)
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            throw OptimistError(.schemaConflict, Self.sentence(on: error, in: bytes), cause: error)
        }
        var faults: [String] = []
        let known = Self.known(json, &faults)
        do {
            self = try Schema(json: known)
            faults += unservable
        } catch {
            faults += error.faults
            // Swift requires an initialized `self`. The faults are thrown below.
            self.init(id: "", types: [:])
        }
        if !faults.isEmpty { throw OptimistError(.schemaConflict, SchemaError(faults).description) }
    }

    private static func sentence(on error: JSONError, in text: [UInt8]) -> String {
        switch error {
        case .malformed where text.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }): "The file is empty."
        case .malformed(let offset) where offset >= text.count:
            "The file ends in the middle of the schema, after \(text.count) bytes. It seems to be cut off."
        case .malformed(let offset):
            "The schema is not valid JSON: the first error is in line \(text[..<offset].count { $0 == 0x0A } + 1)."
        case .duplicateMember(let name): "The schema has the member \"\(name)\" twice in one object."
        case .tooDeep: "The file is not a schema: it is nested too deeply."
        }
    }

    /// Also requires that each of the app's checks is for a type of the schema.
    func checkServable(with validation: RowValidation) throws {
        var faults: [String] = []
        do { try check() } catch { faults = error.faults }
        faults += unservable
        let strangers = validation.types.subtracting(types.keys)
        faults += strangers.sorted().map { "There is a check for \"\($0)\", but the schema does not have this type." }
        if !faults.isEmpty { throw OptimistError(.schemaConflict, SchemaError(faults).description) }
    }

    private var unservable: [String] {
        var faults: [String] = []
        var names: Set<String> = []
        for (type, definition) in types.sorted(by: { $0.key < $1.key }) {
            let lower = type.lowercased()
            if lower.hasPrefix("optimist_") || lower.hasPrefix("sqlite_") {
                faults.append("The type \"\(type)\" has a name that is reserved for the database.")
            }
            if !names.insert(lower).inserted {
                faults.append("Two types are called \"\(lower)\": names must differ by more than upper and lower case.")
            }
            faults += Self.unservable(definition.columns, of: type)
        }
        return faults
    }

    private static func unservable(_ columns: [String: ColumnSchema], of type: String) -> [String] {
        var faults: [String] = []
        var names: Set<String> = ["id"]
        for (column, definition) in columns.sorted(by: { $0.key < $1.key }) {
            if !names.insert(column.lowercased()).inserted {
                faults.append("\(type) has two columns \"\(column.lowercased())\".")
            }
            if definition.type == .blob { faults.append(notYet("\(type).\(column)", "columns of type \"blob\"")) }
        }
        return faults
    }

    // MARK: - Unknown members

    private static let members: Set = ["id", "version", "minClientVersion", "types"]
    private static let typeMembers: Set = ["@unique", "@editWins", "@minClientVersion", "@was", "@space"]
    private static let columnMembers = ColumnRules.members.union([
        "type", "required", "maxBytes", "to", "onDelete", "was",
    ])

    /// Returns the schema without unknown members. Each unknown member is a fault.
    private static func known(_ json: JSON, _ faults: inout [String]) -> JSON {
        guard var schema = known(json, beside: members, "The schema", &faults).object,
            let types = schema["types"]?.object
        else { return json }
        schema["types"] = .object(
            JSONObject(
                types.map { type, definition in
                    guard let members = definition.object else { return (type, definition) }
                    return (type, .object(known(members, of: type, &faults)))
                }))
        return .object(schema)
    }

    private static func known(_ type: JSONObject, of name: String, _ faults: inout [String]) -> JSONObject {
        var known: [JSONObject.Member] = []
        for (member, value) in type {
            if member.hasPrefix("@") ? !typeMembers.contains(member) : value["type"] == nil {
                faults.append(notYet(name, "\"\(member)\""))
            } else if member.hasPrefix("@") {
                known.append((member, value))
            } else {
                known.append((member, self.known(value, beside: columnMembers, "\(name).\(member)", &faults)))
            }
        }
        return JSONObject(known)
    }

    private static func known(
        _ json: JSON, beside known: Set<String>, _ place: String, _ faults: inout [String]
    ) -> JSON {
        guard let members = json.object?.members else { return json }
        faults += members.filter { !known.contains($0.key) }.map { notYet(place, "\"\($0.key)\"") }
        return .object(JSONObject(members.filter { known.contains($0.key) }))
    }

    private static func notYet(_ place: String, _ what: String) -> String {
        "\(place) uses \(what), which this server does not support yet."
    }
}
