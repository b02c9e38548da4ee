// This source file is part of the Optimist open source project, under the MIT licence.

/// An app's own checks of its rows, by type.
///
/// Put the value into a module shared by app and server, and pass it to both. The device throws at the write; the
/// server refuses rows that still reach it, for example from an older app.
///
/// ```swift
/// public let plannerRules = RowValidation([
///     "task": { row in
///         guard let start = row["start"].string, let end = row["end"].string, end < start else { return nil }
///         return RowFault("endsBeforeStart", "A task ends after its start.", columns: ["start", "end"])
///     }
/// ])
/// ```
public struct RowValidation: Sendable {
    /// Checks one row and returns nil if it is allowed. The check must be pure: it reads only the row, not even the
    /// time, so that device and server agree. It runs inside a transaction, on any thread, so it must be fast.
    public typealias Check = @Sendable (CheckedRow) -> RowFault?

    private let checks: [String: Check]

    /// Makes checks. Default: none.
    ///
    /// - Parameter checks: The checks by type name. An unknown type is an error when a store opens or a server starts.
    public init(_ checks: [String: Check] = [:]) { self.checks = checks }

    var isEmpty: Bool { checks.isEmpty }

    @_spi(Internals) public var types: Set<String> { Set(checks.keys) }

    package func checks(_ type: String) -> Bool { checks[type] != nil }

    /// Returns why a row is not allowed, or nil if it is.
    public func fault(in row: CheckedRow) -> RowFault? { checks[row.type]?(row) }
}

/// A row after a write. Deleted rows are not checked.
public struct CheckedRow: Sendable {
    /// The row's type, which is its table in the app.
    public let type: String
    /// The row's id, a lower-case UUID.
    public let id: String
    /// The values by column, in their wire form: dates, bytes and 64-bit numbers are strings, see ``ColumnType``. A
    /// counter's value is its sum.
    public let values: JSONObject
    /// The columns that the write changed; for a new row, every column that it set. The other values may be older than
    /// the check, and the user cannot always fix them.
    public let changed: Set<String>

    /// Makes a row, for example to test a check.
    public init(type: String, id: String, values: JSONObject, changed: Set<String>) {
        self.type = type
        self.id = id
        self.values = values
        self.changed = changed
    }

    /// The value of a column, or null.
    public subscript(column: String) -> JSON { values[column] ?? .null }
}

/// Why a row is not allowed.
public struct RowFault: Error, Hashable, Sendable {
    /// The app's error code. The rejection on the device carries it.
    public var code: String
    /// A sentence for the user. It is logged, so it must not contain users' text.
    public var message: String
    /// The invalid columns. Empty if the row as a whole is invalid.
    public var columns: [String]

    /// Makes a fault.
    ///
    /// - Parameters:
    ///   - code: 1 to 64 ASCII letters, digits and underscores. Any other text becomes `refused`.
    ///   - message: One sentence for the user that says what to change.
    ///   - columns: The invalid columns. Default: none.
    public init(_ code: String, _ message: String, columns: [String] = []) {
        self.code = Schema.isName(code) ? code : "refused"
        self.message = message
        self.columns = columns
    }
}

extension RowFault: CustomStringConvertible {
    public var description: String { "\(code): \(message)" }
}
