// This source file is part of the Optimist open source project, under the MIT licence.

/// Reads a schema and collects all its faults instead of stopping at the first.
///
/// An unreadable part is replaced by a default, so that it does not cause further faults.
struct SchemaReader {
    /// One sentence each, in the order of the text.
    private(set) var faults: [String] = []

    mutating func schema(_ json: JSON) -> Schema {
        var schema = Schema(id: "", types: [:])
        if let id = json["id"]?.string, !id.isEmpty { schema.id = id } else { note("The schema needs an \"id\".") }
        if let version = json["version"] {
            // With an unknown version, no `until` may count as too late.
            schema.version = number(version, "The schema's \"version\"") ?? .max
        }
        if let oldest = json["minClientVersion"] {
            schema.minClientVersion = number(oldest, "The schema's \"minClientVersion\"") ?? 1
        }
        guard let types = json["types"]?.object else {
            note("The schema needs \"types\".")
            return schema
        }
        for (name, members) in types {
            if !Schema.isName(name) || members.object == nil {
                note("The type \"\(name)\" needs a plain name and an object of columns.")
            }
            schema.types[name] = type(members.object ?? [:], name)
        }
        return schema
    }

    private mutating func type(_ json: JSONObject, _ name: String) -> TypeSchema {
        var type = TypeSchema(columns: [:])
        for (member, definition) in json {
            switch member {
            case "@unique": type.uniqueIndexes = indexes(definition, name)
            case "@editWins": type.editWins = flag(definition, "\(name).@editWins")
            case "@minClientVersion": type.minClientVersion = number(definition, "\(name).@minClientVersion")
            case "@was": type.formerNames = formerNames(definition, "\(name).@was")
            case "@space":
                type.space = SpaceRule(json: definition)
                if type.space == nil { note("\(name).@space must be {\"column\": …} or {\"parent\": …}.") }
            case _ where member.hasPrefix("@"): break
            default:
                if !Schema.isName(member) || member == "id" { note("\(name).\(member) is not a valid column name.") }
                type.columns[member] = column(definition, "\(name).\(member)")
            }
        }
        return type
    }

    private mutating func column(_ json: JSON, _ name: String) -> ColumnSchema {
        guard let type = json["type"]?.string.flatMap(ColumnType.init) else {
            let known = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
            note("\(name) needs a \"type\": one of \(known).")
            return ColumnSchema(.string)
        }
        var column = ColumnSchema(type, target: json["to"]?.string)
        if let required = json["required"] { column.isRequired = flag(required, "\"required\" of \(name)") }
        if let maxBytes = json["maxBytes"] { column.maxBytes = number(maxBytes, "\"maxBytes\" of \(name)") }
        column.onDelete = word(json["onDelete"], "\"onDelete\" of \(name)")
        if let former = json["was"] { column.formerNames = formerNames(former, "\"was\" of \(name)") }
        column.rules = ColumnRules(members: json) { faults.append("\(name) \($0)") }
        return column
    }

    private mutating func indexes(_ json: JSON, _ name: String) -> [UniqueIndex] {
        guard let list = json.array else {
            note("\(name).@unique must be a list.")
            return []
        }
        var indexes: [UniqueIndex] = []
        for entry in list {
            guard let columns = entry["columns"]?.array?.map(\.string), !columns.contains(nil) else {
                note("An index of \(name).@unique needs \"columns\", a list of names.")
                continue
            }
            let collision: UniqueIndex.OnCollision? = word(entry["onCollision"], "\"onCollision\" in \(name).@unique")
            indexes.append(UniqueIndex(columns.compactMap(\.self), onCollision: collision ?? .reject))
        }
        return indexes
    }

    private mutating func formerNames(_ json: JSON, _ place: String) -> [FormerName] {
        guard let list = json.array else {
            note("\(place) must be a list.")
            return []
        }
        var names: [FormerName] = []
        for entry in list {
            guard let name = entry["name"]?.string, let until = entry["until"] else {
                note("\(place) needs a \"name\", and the last version that used it as \"until\".")
                continue
            }
            if let until = number(until, "\"until\" in \(place)") { names.append(FormerName(name, until: until)) }
        }
        return names
    }

    // MARK: - Values

    private mutating func note(_ fault: String) { faults.append(fault) }

    /// Reads an integer of at least 1.
    private mutating func number(_ json: JSON, _ place: String) -> Int? {
        if let value = json.int, (1...Int64(Int32.max)).contains(value) { return Int(value) }
        note("\(place) must be a whole number of at least 1.")
        return nil
    }

    private mutating func flag(_ json: JSON, _ place: String) -> Bool {
        if json.bool == nil { note("\(place) must be true or false.") }
        return json.bool ?? false
    }

    private mutating func word<Word: RawRepresentable<String> & CaseIterable>(_ json: JSON?, _ place: String) -> Word? {
        guard let json else { return nil }
        if let word = json.string.flatMap(Word.init) { return word }
        note("\(place) must be one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
        return nil
    }
}
