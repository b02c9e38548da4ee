// This source file is part of the Optimist open source project, under the MIT licence.

extension Schema {
    /// Reads `{"id":…,"version":…,"minClientVersion":…,"types":{"Todo":{"content":{"type":"string",…},"@unique":[…]}}}`.
    ///
    /// - Throws: ``SchemaError`` that names the type and the column, also where the schema contradicts itself. Unknown
    ///   members are ignored.
    public init(json: JSON) throws(SchemaError) {
        guard let id = json["id"]?.string, !id.isEmpty else { throw SchemaError("The schema needs an \"id\".") }
        guard let types = json["types"]?.object else { throw SchemaError("The schema needs \"types\".") }
        self.init(
            id: id, version: try number(json["version"], "The schema's \"version\"") ?? 1,
            minClientVersion: try number(json["minClientVersion"], "The schema's \"minClientVersion\"") ?? 1,
            types: [:])
        for (name, members) in types {
            guard Schema.isName(name), let members = members.object else {
                throw SchemaError("The type \"\(name)\" needs a plain name and an object of columns.")
            }
            self.types[name] = try TypeSchema(json: members, name: name)
        }
        try check()
    }

    public var json: JSON {
        [
            "id": .string(id), "version": .int(Int64(version)), "minClientVersion": .int(Int64(minClientVersion)),
            "types": .object(JSONObject(types.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })),
        ]
    }

    /// Whether a text can name a type or a column: letters, digits and underscores, no digit first, at most 64.
    /// The prefixes of the engine and of SQLite, and the column `id`, are refused by their own checks.
    public static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, (1...64).contains(text.utf8.count), !(0x30...0x39).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
        }
    }
}

extension TypeSchema {
    fileprivate init(json: JSONObject, name: String) throws(SchemaError) {
        self.init(columns: [:])
        for (member, definition) in json {
            switch member {
            case "@unique": uniqueIndexes = try Self.indexes(definition, name)
            case "@editWins": editWins = try flag(definition, "\(name).@editWins")
            case "@minClientVersion": minClientVersion = try number(definition, "\(name).@minClientVersion")
            case "@was": formerNames = try FormerName.list(definition, "\(name).@was")
            case _ where member.hasPrefix("@"): break
            default:
                guard Schema.isName(member), member != "id" else {
                    throw SchemaError("\(name).\(member) is no name for a column.")
                }
                columns[member] = try ColumnSchema(json: definition, name: "\(name).\(member)")
            }
        }
    }

    private static func indexes(_ json: JSON, _ name: String) throws(SchemaError) -> [UniqueIndex] {
        guard let list = json.array else { throw SchemaError("\(name).@unique must be a list.") }
        var indexes: [UniqueIndex] = []
        for entry in list {
            guard let columns = entry["columns"]?.array?.map(\.string), !columns.contains(nil) else {
                throw SchemaError("An index of \(name).@unique needs \"columns\", a list of names.")
            }
            let collision = try word(
                UniqueIndex.OnCollision.self, entry["onCollision"], "\"onCollision\" in \(name).@unique")
            indexes.append(UniqueIndex(columns.compactMap(\.self), onCollision: collision ?? .reject))
        }
        return indexes
    }

    fileprivate var json: JSON {
        var object = JSONObject(columns.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
        if !uniqueIndexes.isEmpty { object.append("@unique", .array(uniqueIndexes.map(\.json))) }
        if editWins { object.append("@editWins", true) }
        if let minClientVersion { object.append("@minClientVersion", .int(Int64(minClientVersion))) }
        if !formerNames.isEmpty { object.append("@was", .array(formerNames.map(\.json))) }
        return .object(object)
    }
}

extension UniqueIndex {
    fileprivate var json: JSON {
        ["columns": .array(columns.map(JSON.string)), "onCollision": .string(onCollision.rawValue)]
    }
}

extension FormerName {
    fileprivate static func list(_ json: JSON, _ place: String) throws(SchemaError) -> [FormerName] {
        guard let list = json.array else { throw SchemaError("\(place) must be a list.") }
        var names: [FormerName] = []
        for entry in list {
            guard let name = entry["name"]?.string, let until = try number(entry["until"], "\"until\" in \(place)")
            else { throw SchemaError("\(place) needs a \"name\" and the version \"until\" which it was used.") }
            names.append(FormerName(name, until: until))
        }
        return names
    }

    fileprivate var json: JSON { ["name": .string(name), "until": .int(Int64(until))] }
}

extension ColumnSchema {
    fileprivate init(json: JSON, name: String) throws(SchemaError) {
        guard let type = json["type"]?.string.flatMap(ColumnType.init) else {
            let known = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
            throw SchemaError("\(name) needs a \"type\" out of \(known).")
        }
        self.init(
            type,
            isRequired: try json["required"].map { json throws(SchemaError) in try flag(json, "\"required\" of \(name)")
            } ?? false,
            maxBytes: try number(json["maxBytes"], "\"maxBytes\" of \(name)"), target: json["to"]?.string,
            onDelete: try word(OnDelete.self, json["onDelete"], "\"onDelete\" of \(name)"))
        if let former = json["was"] { formerNames = try FormerName.list(former, "\"was\" of \(name)") }
    }

    fileprivate var json: JSON {
        var object: JSONObject = ["type": .string(type.rawValue)]
        if isRequired { object.append("required", true) }
        if let maxBytes { object.append("maxBytes", .int(Int64(maxBytes))) }
        if let target { object.append("to", .string(target)) }
        if let onDelete { object.append("onDelete", .string(onDelete.rawValue)) }
        if !formerNames.isEmpty { object.append("was", .array(formerNames.map(\.json))) }
        return .object(object)
    }
}

// MARK: - Values

/// A whole number that counts from one, or nil where there is none.
private func number(_ json: JSON?, _ place: String) throws(SchemaError) -> Int? {
    guard let json else { return nil }
    guard let value = json.int, (1...Int64(Int32.max)).contains(value) else {
        throw SchemaError("\(place) must be a whole number from 1 on.")
    }
    return Int(value)
}

private func flag(_ json: JSON, _ place: String) throws(SchemaError) -> Bool {
    guard let value = json.bool else { throw SchemaError("\(place) must be true or false.") }
    return value
}

private func word<Word: RawRepresentable<String> & CaseIterable>(
    _: Word.Type, _ json: JSON?, _ place: String
) throws(SchemaError) -> Word? {
    guard let json else { return nil }
    guard let word = json.string.flatMap(Word.init) else {
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        throw SchemaError("\(place) must be one of \(known).")
    }
    return word
}
