// This source file is part of the Optimist open source project, under the MIT licence.

/// The names by which clients of one schema version know types and columns.
@_spi(Internals) public struct Vocabulary: Sendable {
    /// Names of one kind, both ways.
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
    /// By the type's present name. Only types of which a column was renamed.
    private var columns: [String: Names] = [:]

    /// Collects the names of a schema version.
    ///
    /// - Parameters:
    ///   - schema: The present schema.
    ///   - version: The version of the schema that the client was built with. Nil: the present one.
    public init(_ schema: Schema, version: Int?) {
        let version = version ?? schema.version
        types = Names(schema.types.lazy.map { ($0.key, $0.value.formerNames) }, version: version)
        for (type, definition) in schema.types {
            let names = Names(definition.columns.lazy.map { ($0.key, $0.value.formerNames) }, version: version)
            if !names.former.isEmpty { columns[type] = names }
        }
    }

    /// Whether the client knows every type and column by its present name, so that there is nothing to rename.
    public var isPresent: Bool { types.former.isEmpty && columns.isEmpty }
    /// Whether the client knows some columns of a type by former names. `type` is its present name.
    public func renamesColumns(of type: String) -> Bool { columns[type] != nil }

    // MARK: - What a client says

    /// Returns the present name of a type that the client names. A name without a former one is returned as it is.
    public func presentType(_ name: String) -> String { types.present[name] ?? name }

    /// Returns the present name of a column that the client names. `type` is the type's present name.
    public func presentColumn(_ name: String, of type: String) -> String { columns[type]?.present[name] ?? name }

    /// Returns the present name of a row, `Type:id`.
    public func presentRow(_ name: String) -> String { renaming(name, types.present) }

    /// Returns a row of the client's, or a part of one, in present names, also in members such as `@hlc` that name
    /// columns. `type` is the type's present name.
    public func present(_ row: JSONObject, of type: String) -> JSONObject { renaming(row, columns[type]?.present) }

    // MARK: - What it hears

    /// Returns the client's name of a type, from its present one.
    public func formerType(_ name: String) -> String { types.former[name] ?? name }

    /// Returns the client's name of a row, `Type:id`, from its present one.
    public func formerRow(_ name: String) -> String { renaming(name, types.former) }

    /// Returns a row, or a part of one, in the client's names, also in members such as `@hlc` that name columns. `type`
    /// is the type's present name.
    public func former(_ row: JSONObject, of type: String) -> JSONObject { renaming(row, columns[type]?.former) }

    /// Returns the client's name of a column, from its present one. `type` is the type's present name.
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
                // A name that is another column's by now: the renamed one is meant, and stands once.
                renamed[names[key] ?? key] = value
            }
        }
        return renamed
    }
}

extension Schema {
    /// Returns the names by which clients of a schema version know the types.
    package func typeNames(at version: Int) -> Set<String> {
        let vocabulary = Vocabulary(self, version: version)
        return Set(types.keys.map(vocabulary.formerType))
    }
}
