// This source file is part of the Optimist open source project, under the MIT licence.

extension Schema {
    /// Reads the wire form,
    /// `{"id":…,"version":…,"minClientVersion":…,"types":{"Todo":{"content":{"type":"string",…},"@unique":[…]}}}`.
    ///
    /// Unknown members are ignored. `version` and `minClientVersion` default to 1.
    ///
    /// - Throws: ``SchemaError`` with every unreadable member and every contradiction.
    public init(json: JSON) throws(SchemaError) {
        var reader = SchemaReader()
        let schema = reader.schema(json)
        let faults = reader.faults + schema.contradictions
        if !faults.isEmpty { throw SchemaError(faults) }
        self = schema
    }

    /// The wire form, with types and columns sorted by name. ``init(json:)`` reads it.
    @_spi(Internals) public var json: JSON {
        [
            "id": .string(id), "version": .int(Int64(version)), "minClientVersion": .int(Int64(minClientVersion)),
            "types": .object(JSONObject(types.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })),
        ]
    }

    /// Whether a text can name a type or a column: 1 to 64 ASCII letters, digits and underscores, without a leading
    /// digit. Other checks refuse the reserved prefixes of the engine and SQLite, and the column `id`.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, (1...64).contains(text.utf8.count), !(0x30...0x39).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
        }
    }
}

extension TypeSchema {
    fileprivate var json: JSON {
        var object = JSONObject(columns.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
        if !uniqueIndexes.isEmpty { object.append("@unique", .array(uniqueIndexes.map(\.json))) }
        if editWins { object.append("@editWins", true) }
        if let minClientVersion { object.append("@minClientVersion", .int(Int64(minClientVersion))) }
        if !formerNames.isEmpty { object.append("@was", .array(formerNames.map(\.json))) }
        if let space { object.append("@space", space.json) }
        return .object(object)
    }
}

extension UniqueIndex {
    fileprivate var json: JSON {
        ["columns": .array(columns.map(JSON.string)), "onCollision": .string(onCollision.rawValue)]
    }
}

extension FormerName {
    fileprivate var json: JSON { ["name": .string(name), "until": .int(Int64(until))] }
}

extension ColumnSchema {
    fileprivate var json: JSON {
        var object: JSONObject = ["type": .string(type.rawValue)]
        if isRequired { object.append("required", true) }
        if let maxBytes { object.append("maxBytes", .int(Int64(maxBytes))) }
        if let target { object.append("to", .string(target)) }
        if let onDelete { object.append("onDelete", .string(onDelete.rawValue)) }
        if !formerNames.isEmpty { object.append("was", .array(formerNames.map(\.json))) }
        for (name, value) in rules.json { object.append(name, value) }
        return .object(object)
    }
}
