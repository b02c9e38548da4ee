// This source file is part of the Optimist open source project, under the MIT licence.

/// An app's own checks of its rows, by type.
///
/// Put the value into a module that app and server share, and give it to both: the device throws at the write, and the server
/// refuses what reaches it all the same, for example from an older app.
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
    /// Checks one row. It is pure: it reads nothing but the row, not even the time, so that device and server decide
    /// alike. It runs in a transaction, on any thread, so it is quick. Nil: the row is allowed.
    public typealias Check = @Sendable (CheckedRow) -> RowFault?

    private let checks: [String: Check]

    /// Makes checks. Default: none.
    ///
    /// - Parameter checks: The checks by the names of their types. A name that is no type is an error when a store opens or a
    ///   server starts.
    public init(_ checks: [String: Check] = [:]) { self.checks = checks }

    /// Whether there is no check.
    var isEmpty: Bool { checks.isEmpty }

    /// The types whose rows are checked.
    @_spi(Internals) public var types: Set<String> { Set(checks.keys) }

    /// Whether rows of a type are checked.
    package func checks(_ type: String) -> Bool { checks[type] != nil }

    /// Returns why a row is not allowed. Nil: it is.
    public func fault(in row: CheckedRow) -> RowFault? { checks[row.type]?(row) }
}

/// A row as a write leaves it. Rows that are deleted are not checked.
public struct CheckedRow: Sendable {
    /// The row's type, which is its table in the app.
    public let type: String
    /// The row's id, a lower-case UUID.
    public let id: String
    /// The values by column, in their form on the wire: dates, bytes and 64-bit numbers are texts, as ``ColumnType`` says.
    /// A counter is its sum.
    public let values: JSONObject
    /// The columns that the write changed: for a new row, every column that it gave a value. The others may be older
    /// than the check, and the user cannot always mend them.
    public let changed: Set<String>

    /// Makes a row, for example to test a check.
    public init(type: String, id: String, values: JSONObject, changed: Set<String>) {
        self.type = type
        self.id = id
        self.values = values
        self.changed = changed
    }

    /// The value of a column. Null if it has none.
    public subscript(column: String) -> JSON { values[column] ?? .null }
}

/// Why a row is not allowed.
public struct RowFault: Error, Hashable, Sendable {
    /// The app's word for it, which the rejection on the device has as its code.
    public var code: String
    /// A sentence for the user. It contains nothing that users wrote, because it is logged.
    public var message: String
    /// The columns at fault. Empty: the row as a whole.
    public var columns: [String]

    /// Makes a fault.
    ///
    /// - Parameters:
    ///   - code: 1 to 64 ASCII letters, digits and underscores. Any other text becomes `refused`.
    ///   - message: One sentence for people, which says what to change.
    ///   - columns: The columns at fault. Default: none is named.
    public init(_ code: String, _ message: String, columns: [String] = []) {
        self.code = Schema.isName(code) ? code : "refused"
        self.message = message
        self.columns = columns
    }
}

extension RowFault: CustomStringConvertible {
    public var description: String { "\(code): \(message)" }
}
