// This source file is part of the Optimist open source project, under the MIT licence.

/// The types of an app's rows and their columns. The server reads it from a file, and the session carries the same
/// JSON.
public struct Schema: Hashable, Sendable {
    /// Names the app, such as `"planner"`.
    public var id: String
    /// Counts the changes of the schema, from 1 on, one more with every change.
    public var version: Int
    /// The oldest schema version whose clients may still sync, from 1 to ``version``.
    @_spi(Internals) public var minClientVersion: Int
    /// The types by name.
    @_spi(Internals) public var types: [String: TypeSchema]

    /// Makes a schema, unchecked: ``check()`` looks for contradictions. By default it is version 1 and all clients may
    /// sync.
    ///
    /// - Parameters:
    ///   - id: Names the app, such as `"planner"`.
    ///   - version: Counts the changes of the schema, from 1 on.
    ///   - minClientVersion: The oldest schema version whose clients may still sync, from 1 to `version`.
    ///   - types: The types by name.
    public init(id: String, version: Int = 1, minClientVersion: Int = 1, types: [String: TypeSchema]) {
        self.id = id
        self.version = version
        self.minClientVersion = minClientVersion
        self.types = types
    }
}

/// One type of row, which is one table of the app.
public struct TypeSchema: Hashable, Sendable {
    /// The columns by name, without `id`.
    @_spi(Internals) public var columns: [String: ColumnSchema]
    /// Sets of columns in which no two living rows of an account have the same values. Default: none.
    @_spi(Internals) public var uniqueIndexes: [UniqueIndex]
    /// Whether an edit that is later than the row's delete brings the row back. Default: false, so a delete stands.
    @_spi(Internals) public var editWins: Bool
    /// The oldest schema version whose clients may still sync this type. Nil: the schema's ``Schema/minClientVersion``.
    package var minClientVersion: Int?
    /// The names that older clients call the type by. Default: none.
    @_spi(Internals) public var formerNames: [FormerName]

    /// Makes a type. With the defaults it has no unique values, deletes stand, and it always had its present name.
    ///
    /// - Parameters:
    ///   - columns: The columns by name, without `id`.
    ///   - uniqueIndexes: Sets of columns in which no two living rows of an account have the same values. Default:
    ///     none.
    ///   - editWins: Whether an edit that is later than the row's delete brings the row back. Default: false, so a
    ///     delete stands.
    ///   - minClientVersion: The oldest schema version whose clients may still sync this type. Nil: the schema's
    ///     `minClientVersion`.
    ///   - formerNames: The names that older clients call the type by. Default: none.
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

/// Columns that have different values in every row of an account. A row with null in one of them collides with none.
public struct UniqueIndex: Hashable, Sendable {
    /// The names of the columns, each once, one at least. None of them is a counter or holds JSON.
    @_spi(Internals) public var columns: [String]
    /// What happens to the second of two rows with the same values. Default: the server refuses it.
    package var onCollision: OnCollision

    /// What happens to the second of two rows with the same values.
    public enum OnCollision: String, Sendable, CaseIterable {
        /// The server refuses it with `uniqueViolation`. The app shows a rejection.
        case reject
        /// The server merges it into the first row, and every device follows.
        case mergeInto
    }

    /// Makes an index over columns of the type. ``Schema/check()`` refuses names that are no columns.
    ///
    /// - Parameters:
    ///   - columns: The names of the columns, each once, one at least. None of them is a counter or holds JSON.
    ///   - onCollision: What happens to the second of two rows with the same values. Default: the server refuses it.
    public init(_ columns: [String], onCollision: OnCollision = .reject) {
        self.columns = columns
        self.onCollision = onCollision
    }
}

/// The name that clients up to a schema version know a type or column by.
public struct FormerName: Hashable, Sendable {
    /// The former name. ``Schema/isName(_:)`` is true for it.
    package var name: String
    /// The last schema version that has this name, at least 1 and below the present ``Schema/version``.
    package var until: Int

    /// Makes a former name.
    ///
    /// - Parameters:
    ///   - name: The former name: ASCII letters, digits and underscores, and no digit first.
    ///   - until: The last schema version that has this name, at least 1 and below the present ``Schema/version``.
    public init(_ name: String, until: Int) {
        self.name = name
        self.until = until
    }
}

/// One column of a type.
public struct ColumnSchema: Hashable, Sendable {
    /// The type of the values.
    @_spi(Internals) public var type: ColumnType
    /// Whether the server refuses null. Default: false.
    @_spi(Internals) public var isRequired: Bool
    /// The largest size of a value in bytes, from 1 on: of a string its UTF-8, of anything else its JSON. Nil: only
    /// ``RowSync/Limit/rowBytes`` counts.
    package var maxBytes: Int?
    /// The type of the rows that a `ref` names. Nil for every other column type.
    @_spi(Internals) public var target: String?
    /// What deleting the target does to a row that refers to it. Nil: nothing, and the reference stays.
    package var onDelete: OnDelete?
    /// The names that older clients call the column by. Default: none.
    package var formerNames: [FormerName]
    /// What else holds for the values. Default: no rules.
    @_spi(Internals) public var rules: ColumnRules

    /// What deleting a row does to the rows that refer to it.
    public enum OnDelete: String, Sendable, CaseIterable {
        /// The row is deleted too.
        case cascade
        /// The column becomes null. A required column cannot have this.
        case setNull
        /// The server refuses to delete the target while a row refers to it.
        case restrict
    }

    /// Makes a column. With the defaults it may be null, and its size has no limit of its own.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - isRequired: Whether the server refuses null. Default: false.
    ///   - maxBytes: The largest size of a value in bytes, from 1 on: of a string its UTF-8, of anything else its JSON.
    ///     Nil: only the size of the row has a limit, 1 MB.
    ///   - target: The type of the rows that a `ref` names. Nil for every other column type.
    ///   - onDelete: What deleting the target does to a row that refers to it. Nil: nothing, and the reference stays.
    ///   - formerNames: The names that older clients call the column by. Default: none.
    ///   - rules: What else holds for the values. Default: no rules.
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

    /// Returns why a value cannot stand in this column, in words that complete "The column …". Nil if it can.
    package func objection(to value: JSON) -> String? { objection(to: value) { $0.matches($1) } }

    /// The same, where the caller may know already whether a text matches the column's pattern.
    package func objection(to value: JSON, matches: (TextPattern, String) -> Bool) -> String? {
        if value.isNull { return isRequired ? "is required" : nil }
        if let objection = type.objection(to: value) { return objection }
        guard let maxBytes, isTooLarge(value) else { return rules.objection(to: value, matches: matches) }
        return "holds at most \(maxBytes) bytes, not \(Self.size(of: value))"
    }

    /// Whether a value is larger than ``maxBytes``. False for a value that the type refuses anyway.
    package func isTooLarge(_ value: JSON) -> Bool {
        guard let maxBytes, !value.isNull, type.objection(to: value) == nil else { return false }
        return Self.size(of: value) > maxBytes
    }

    private static func size(of value: JSON) -> Int { value.string?.utf8.count ?? value.bytes.count }
}

/// Why a schema cannot be read: everything that is wrong with it.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence for each contradiction or unreadable member, which names its type and column.
    public let faults: [String]

    /// Makes an error.
    ///
    /// - Parameter faults: One sentence at least.
    @_spi(Internals) public init(_ faults: [String]) { self.faults = faults }

    /// The sentence, or a list of them with a line for each.
    public var description: String {
        guard faults.count > 1 else { return faults.first ?? "" }
        return "The schema has \(faults.count) faults:" + faults.map { "\n  \($0)" }.joined()
    }
}
