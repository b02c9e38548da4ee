// This source file is part of the Optimist open source project, under the MIT licence.

/// What the rows of an app look like: its types and their columns. The same JSON on the server and in the session.
public struct Schema: Hashable, Sendable {
    /// Names the app, such as `"planner"`.
    public var id: String
    /// Raised by one with every change.
    public var version: Int
    /// The oldest schema version whose clients may still sync.
    public var minClientVersion: Int
    public var types: [String: TypeSchema]

    public init(id: String, version: Int = 1, minClientVersion: Int = 1, types: [String: TypeSchema]) {
        self.id = id
        self.version = version
        self.minClientVersion = minClientVersion
        self.types = types
    }
}

/// One type of row, which is one table of the app.
public struct TypeSchema: Hashable, Sendable {
    public var columns: [String: ColumnSchema]

    public init(columns: [String: ColumnSchema]) { self.columns = columns }
}

/// One column of a type.
public struct ColumnSchema: Hashable, Sendable {
    public var type: ColumnType
    /// Whether null is refused. Default: no.
    public var isRequired: Bool
    /// The largest size of the value's text in UTF-8. Nil: only the row's limit counts.
    public var maxBytes: Int?
    /// The type that a `ref` points to.
    public var target: String?
    /// What deleting the target does to a row that points to it.
    public var onDelete: OnDelete?

    public enum OnDelete: String, Sendable { case cascade, setNull, restrict }

    public init(
        _ type: ColumnType, isRequired: Bool = false, maxBytes: Int? = nil, target: String? = nil,
        onDelete: OnDelete? = nil
    ) {
        self.type = type
        self.isRequired = isRequired
        self.maxBytes = maxBytes
        self.target = target
        self.onDelete = onDelete
    }

    /// Returns why a value cannot stand in this column, in words that complete "The column …", or nil if it can.
    public func objection(to value: JSON) -> String? {
        if value.isNull { return isRequired ? "is required" : nil }
        if let objection = type.objection(to: value) { return objection }
        guard let maxBytes, isTooLarge(value) else { return nil }
        return "holds at most \(maxBytes) bytes, not \(Self.size(of: value))"
    }

    /// Whether a value is larger than the column allows. Of a value that the type refuses anyway, false.
    public func isTooLarge(_ value: JSON) -> Bool {
        guard let maxBytes, !value.isNull, type.objection(to: value) == nil else { return false }
        return Self.size(of: value) > maxBytes
    }

    private static func size(of value: JSON) -> Int { value.string?.utf8.count ?? value.bytes.count }
}

/// Why a schema cannot be read, in a sentence that says where.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

extension Schema {
    /// Reads `{"id":…,"version":…,"minClientVersion":…,"types":{"Todo":{"content":{"type":"string",…}}}}`.
    ///
    /// - Throws: ``SchemaError`` that names the type and the column. Unknown members are ignored.
    public init(json: JSON) throws(SchemaError) {
        guard let id = json["id"]?.string, !id.isEmpty else {
            throw SchemaError(description: "The schema needs an \"id\".")
        }
        guard let types = json["types"]?.object else { throw SchemaError(description: "The schema needs \"types\".") }
        var schema = Schema(
            id: id, version: Int(json["version"]?.int ?? 1), minClientVersion: Int(json["minClientVersion"]?.int ?? 1),
            types: [:])
        for (name, columns) in types {
            guard Schema.isName(name), let columns = columns.object else {
                throw SchemaError(description: "The type \"\(name)\" needs a plain name and an object of columns.")
            }
            schema.types[name] = try TypeSchema(json: columns, name: name)
        }
        for (name, type) in schema.types {
            for (column, target) in type.columns.compactMap({ column in column.value.target.map { (column.key, $0) } })
            where schema.types[target] == nil {
                throw SchemaError(
                    description: "\(name).\(column) refers to \"\(target)\", which is no type of the schema.")
            }
        }
        self = schema
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
        var columns: [String: ColumnSchema] = [:]
        for (column, definition) in json {
            guard Schema.isName(column), column != "id" else {
                throw SchemaError(description: "\(name).\(column) is no name for a column.")
            }
            columns[column] = try ColumnSchema(json: definition, name: "\(name).\(column)")
        }
        self.init(columns: columns)
    }

    fileprivate var json: JSON {
        .object(JSONObject(columns.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) }))
    }
}

extension ColumnSchema {
    fileprivate init(json: JSON, name: String) throws(SchemaError) {
        guard let type = json["type"]?.string.flatMap(ColumnType.init) else {
            let known = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
            throw SchemaError(description: "\(name) needs a \"type\" out of \(known).")
        }
        self.init(
            type, isRequired: json["required"]?.bool ?? false, maxBytes: json["maxBytes"]?.int.map(Int.init),
            target: json["to"]?.string, onDelete: json["onDelete"]?.string.flatMap(OnDelete.init))
        if type == .ref, target == nil { throw SchemaError(description: "\(name) is a ref and needs \"to\".") }
    }

    fileprivate var json: JSON {
        var object: JSONObject = ["type": .string(type.rawValue)]
        if isRequired { object.append("required", true) }
        if let maxBytes { object.append("maxBytes", .int(Int64(maxBytes))) }
        if let target { object.append("to", .string(target)) }
        if let onDelete { object.append("onDelete", .string(onDelete.rawValue)) }
        return .object(object)
    }
}
