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
    /// Columns that no two living rows of an account may have the same values in.
    public var uniqueIndexes: [UniqueIndex]
    /// Whether an edit that is later than the row's delete brings the row back. Default: no, a delete stands.
    public var editWins: Bool
    /// The oldest schema version whose clients may still sync this type. Nil: what the schema says of all.
    public var minClientVersion: Int?
    /// What older clients call the type.
    public var formerNames: [FormerName]

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

/// Columns whose values together name one row. Where one of them is null, nothing collides.
public struct UniqueIndex: Hashable, Sendable {
    public var columns: [String]
    public var onCollision: OnCollision

    /// What becomes of the row that comes second.
    public enum OnCollision: String, Sendable, CaseIterable {
        /// It is refused.
        case reject
        /// It becomes one with the first.
        case mergeInto
    }

    public init(_ columns: [String], onCollision: OnCollision = .reject) {
        self.columns = columns
        self.onCollision = onCollision
    }
}

/// A name that clients up to a schema version use for what has another name now.
public struct FormerName: Hashable, Sendable {
    public var name: String
    /// The last schema version that knows it by this name.
    public var until: Int

    public init(_ name: String, until: Int) {
        self.name = name
        self.until = until
    }
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
    /// What deleting the target does to a row that points to it. Nil: nothing.
    public var onDelete: OnDelete?
    /// What older clients call the column.
    public var formerNames: [FormerName]

    public enum OnDelete: String, Sendable, CaseIterable {
        /// The row is deleted too.
        case cascade
        /// The column becomes null.
        case setNull
        /// The target is not deleted as long as a row points to it.
        case restrict
    }

    public init(
        _ type: ColumnType, isRequired: Bool = false, maxBytes: Int? = nil, target: String? = nil,
        onDelete: OnDelete? = nil, formerNames: [FormerName] = []
    ) {
        self.type = type
        self.isRequired = isRequired
        self.maxBytes = maxBytes
        self.target = target
        self.onDelete = onDelete
        self.formerNames = formerNames
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

/// Why a schema cannot be read: everything that is wrong with it.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for each, which says where.
    public let faults: [String]

    /// - Parameter faults: One at least.
    public init(_ faults: [String]) { self.faults = faults }

    /// The sentence, or a list of them with a line for each.
    public var description: String {
        guard faults.count > 1 else { return faults.first ?? "" }
        return "The schema has \(faults.count) faults:" + faults.map { "\n  \($0)" }.joined()
    }
}
