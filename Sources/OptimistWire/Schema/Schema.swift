// This source file is part of the Optimist open source project, under the MIT licence.

/// The row types of an app and their columns. The server reads it from a file, and the session carries the same JSON.
public struct Schema: Hashable, Sendable {
    /// The name of the app, such as `"planner"`.
    public var id: String
    /// The version of the schema, starting at 1. Every change increments it.
    public var version: Int
    @_spi(Internals) public var minClientVersion: Int
    @_spi(Internals) public var types: [String: TypeSchema]

    /// Makes a schema, unchecked: ``check()`` looks for contradictions. By default it is version 1 and all clients may
    /// sync.
    ///
    /// - Parameters:
    ///   - id: The name of the app, such as `"planner"`.
    ///   - version: The version of the schema, starting at 1.
    ///   - minClientVersion: The oldest schema version whose clients may still sync, from 1 to `version`.
    ///   - types: The types by name.
    public init(id: String, version: Int = 1, minClientVersion: Int = 1, types: [String: TypeSchema]) {
        self.id = id
        self.version = version
        self.minClientVersion = minClientVersion
        self.types = types
    }
}

/// A row type, which is a table of the app.
public struct TypeSchema: Hashable, Sendable {
    @_spi(Internals) public var columns: [String: ColumnSchema]
    @_spi(Internals) public var uniqueIndexes: [UniqueIndex]
    @_spi(Internals) public var editWins: Bool
    package var minClientVersion: Int?
    @_spi(Internals) public var formerNames: [FormerName]
    /// The space of the type's rows. Nil: the person's own account.
    @_spi(Internals) public var space: SpaceRule?

    /// Makes a type.
    ///
    /// - Parameters:
    ///   - columns: The columns by name, without `id`.
    ///   - uniqueIndexes: Sets of columns whose values must be unique among the living rows of an account. Default:
    ///     none.
    ///   - editWins: Whether an edit later than the row's delete revives the row. Default: false.
    ///   - minClientVersion: The oldest schema version whose clients may still sync this type. Default: the schema's
    ///     `minClientVersion`.
    ///   - formerNames: The type's names in older clients. Default: none.
    public init(
        columns: [String: ColumnSchema], uniqueIndexes: [UniqueIndex] = [], editWins: Bool = false,
        minClientVersion: Int? = nil, formerNames: [FormerName] = []
    ) {
        self.columns = columns
        self.uniqueIndexes = uniqueIndexes
        self.editWins = editWins
        self.minClientVersion = minClientVersion
        self.formerNames = formerNames
    }
}

/// Columns whose combined values are unique among an account's living rows. A row with null in one of them never
/// collides.
public struct UniqueIndex: Hashable, Sendable {
    @_spi(Internals) public var columns: [String]
    package var onCollision: OnCollision

    /// The treatment of the second of two rows with the same values.
    public enum OnCollision: String, Sendable, CaseIterable {
        /// The server refuses the row with `uniqueViolation`. The app shows a rejection.
        case reject
        /// The server merges the row into the first one, and every device follows.
        case mergeInto
    }

    /// Makes an index over columns of the type. ``Schema/check()`` refuses unknown columns.
    ///
    /// - Parameters:
    ///   - columns: The distinct names of the columns, at least one. Counters, JSON and blobs are not allowed.
    ///   - onCollision: The treatment of the second of two rows with the same values. Default: the server refuses it.
    public init(_ columns: [String], onCollision: OnCollision = .reject) {
        self.columns = columns
        self.onCollision = onCollision
    }
}

/// The name of a type or column in clients up to a schema version.
public struct FormerName: Hashable, Sendable {
    package var name: String
    package var until: Int

    /// Makes a former name.
    ///
    /// - Parameters:
    ///   - name: The former name: ASCII letters, digits and underscores, without a leading digit.
    ///   - until: The last schema version with this name, at least 1 and below the current ``Schema/version``.
    public init(_ name: String, until: Int) {
        self.name = name
        self.until = until
    }
}

/// A column of a type.
public struct ColumnSchema: Hashable, Sendable {
    @_spi(Internals) public var type: ColumnType
    @_spi(Internals) public var isRequired: Bool
    package var maxBytes: Int?
    @_spi(Internals) public var target: String?
    package var onDelete: OnDelete?
    package var formerNames: [FormerName]
    @_spi(Internals) public var rules: ColumnRules

    /// The effect of deleting a row on the rows that refer to it.
    public enum OnDelete: String, Sendable, CaseIterable {
        /// The row is also deleted.
        case cascade
        /// The column becomes null. Not allowed for a required column.
        case setNull
        /// The server refuses to delete the target while a row refers to it.
        case restrict
    }

    /// Makes a column.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - isRequired: Whether the server refuses null. Default: false.
    ///   - maxBytes: The maximum size of a value in bytes, at least 1: of a string's UTF-8, or any other value's JSON.
    ///     Default: nil, limited only by the size of the row, 1 MB.
    ///   - target: The type that a `ref` refers to. Nil for every other column type.
    ///   - onDelete: The effect of deleting the target on a row that refers to it. Default: nil, the reference stays.
    ///   - formerNames: The column's names in older clients. Default: none.
    ///   - rules: Rules for the values. Default: none.
    public init(
        _ type: ColumnType, isRequired: Bool = false, maxBytes: Int? = nil, target: String? = nil,
        onDelete: OnDelete? = nil, formerNames: [FormerName] = [], rules: ColumnRules = ColumnRules()
    ) {
        self.type = type
        self.isRequired = isRequired
        self.maxBytes = maxBytes
        self.target = target
        self.onDelete = onDelete
        self.formerNames = formerNames
        self.rules = rules
    }

    /// Returns why this column cannot hold a value, as a phrase that completes "The column …", or nil if it can.
    package func objection(to value: JSON) -> String? { objection(to: value) { $0.matches($1) } }

    /// The same, but calls `matches` to match patterns, so that the caller can cache them.
    package func objection(to value: JSON, matches: (TextPattern, String) -> Bool) -> String? {
        if value.isNull { return isRequired ? "is required" : nil }
        if let objection = type.objection(to: value) { return objection }
        guard let maxBytes, isTooLarge(value) else { return rules.objection(to: value, matches: matches) }
        return "holds at most \(maxBytes) bytes, not \(Self.size(of: value))"
    }

    /// Whether a value exceeds ``maxBytes``. False for a value that the type refuses anyway.
    package func isTooLarge(_ value: JSON) -> Bool {
        guard let maxBytes, !value.isNull, type.objection(to: value) == nil else { return false }
        return Self.size(of: value) > maxBytes
    }

    private static func size(of value: JSON) -> Int { value.string?.utf8.count ?? value.bytes.count }
}

/// All the errors that make a schema unreadable.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence for each contradiction or unreadable member, with its type and column.
    public let faults: [String]

    /// Makes an error.
    ///
    /// - Parameter faults: At least one sentence.
    @_spi(Internals) public init(_ faults: [String]) { self.faults = faults }

    /// The sentence, or a list with one line per sentence.
    public var description: String {
        guard faults.count > 1 else { return faults.first ?? "" }
        return "The schema has \(faults.count) faults:" + faults.map { "\n  \($0)" }.joined()
    }
}
