// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of types and columns as clients of one schema version know them.
@_spi(Internals) public struct Vocabulary: Sendable {
    /// A mapping between current and former names.
    private struct Names: Sendable {
        var present: [String: String] = [:]
        var former: [String: String] = [:]

        init(_ formerNames: some Sequence<(key: String, value: [FormerName])>, version: Int) {
            for (name, names) in formerNames {
                let known = names.filter { $0.until >= version }.min { $0.until < $1.until }
                if let known { (present[known.name], former[name]) = (name, known.name) }
            }
        }
    }

    private let types: Names
    /// By the type's current name. Contains only types with renamed columns.
    private var columns: [String: Names] = [:]

    /// Collects the names of a schema version.
    ///
    /// - Parameters:
    ///   - schema: The current schema.
    ///   - version: The schema version that the client was built with. Nil: the current one.
    public init(_ schema: Schema, version: Int?) {
        let version = version ?? schema.version
        types = Names(schema.types.lazy.map { ($0.key, $0.value.formerNames) }, version: version)
        for (type, definition) in schema.types {
            let names = Names(definition.columns.lazy.map { ($0.key, $0.value.formerNames) }, version: version)
            if !names.former.isEmpty { columns[type] = names }
        }
    }

    /// Whether the client uses only current names, so that renaming is unnecessary.
    public var isPresent: Bool { types.former.isEmpty && columns.isEmpty }
    /// Whether the client knows columns of a type by former names. `type` is its current name.
    public func renamesColumns(of type: String) -> Bool { columns[type] != nil }

    // MARK: - Requests

    /// Returns the current name of a type in a client's request. Other names are returned unchanged.
    public func presentType(_ name: String) -> String { types.present[name] ?? name }

    /// Returns the current name of a column in a client's request. `type` is the type's current name.
    public func presentColumn(_ name: String, of type: String) -> String { columns[type]?.present[name] ?? name }

    public func presentRow(_ name: String) -> String { renaming(name, types.present) }

    /// Returns a client's row, or part of one, with current column names, including those in members such as `@hlc`.
    /// `type` is the type's current name.
    public func present(_ row: JSONObject, of type: String) -> JSONObject { renaming(row, columns[type]?.present) }

    // MARK: - Answers

    public func formerType(_ name: String) -> String { types.former[name] ?? name }

    public func formerRow(_ name: String) -> String { renaming(name, types.former) }

    /// Returns a row, or part of one, with the client's column names, including those in members such as `@hlc`. `type`
    /// is the type's current name.
    public func former(_ row: JSONObject, of type: String) -> JSONObject { renaming(row, columns[type]?.former) }

    /// Returns the client's name of a column. `type` is the type's current name.
    public func formerColumn(_ name: String, of type: String) -> String { columns[type]?.former[name] ?? name }

    // MARK: - Renaming

    private func renaming(_ row: String, _ names: [String: String]) -> String {
        guard let end = row.firstIndex(of: ":"), let name = names[String(row[..<end])] else { return row }
        return name + row[end...]
    }

    private func renaming(_ row: JSONObject, _ names: [String: String]?) -> JSONObject {
        guard let names else { return row }
        var renamed = JSONObject()
        for (key, value) in row {
            switch (key, value) {
            case ("@hlc", .object(let clocks)), ("@mine", .object(let clocks)), ("@read", .object(let clocks)),
                ("@unread", .object(let clocks)):
                renamed.append(key, .object(JSONObject(clocks.map { (names[$0.key] ?? $0.key, $0.value) })))
            case _ where key.hasPrefix("@") || key == "id": renamed.append(key, value)
            default:
                // If the name now belongs to another column, the renamed column is meant and appears once.
                renamed[names[key] ?? key] = value
            }
        }
        return renamed
    }
}

extension Schema {
    /// Returns the names of the types in clients of a schema version.
    package func typeNames(at version: Int) -> Set<String> {
        let vocabulary = Vocabulary(self, version: version)
        return Set(types.keys.map(vocabulary.formerType))
    }
}
