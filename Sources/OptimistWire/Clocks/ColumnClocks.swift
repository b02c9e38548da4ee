// This source file is part of the Optimist open source project, under the MIT licence.

/// The clocks of a row's columns in the packed form of `@hlc`: one common clock with exceptions.
public struct ColumnClocks: Hashable, Sendable {
    /// The clock of every column not in ``exceptions``. Nil when each column has its own.
    public var common: WriteClock?
    /// The clocks that differ from ``common``, by column name.
    public var exceptions: [String: WriteClock]

    /// Makes clocks from their parts. By default no column has a clock.
    public init(common: WriteClock? = nil, exceptions: [String: WriteClock] = [:]) {
        self.common = common
        self.exceptions = exceptions
    }

    /// Packs one clock per column. The most frequent clock becomes ``common``; in a tie, the latest of them.
    ///
    /// - Complexity: O(n) for n columns.
    public init(packing clocks: [String: WriteClock]) {
        let counts = clocks.values.reduce(into: [WriteClock: Int]()) { $0[$1, default: 0] += 1 }
        let common = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        self.init(common: common, exceptions: clocks.filter { $0.value != common })
    }

    /// The clock of a column: its exception, or else ``common``.
    public subscript(column: String) -> WriteClock? { exceptions[column] ?? common }

    package var earliest: WriteClock? { exceptions.values.reduce(common) { min($0 ?? $1, $1) } }

    /// The latest of all clocks, or nil if there are none.
    public var latest: WriteClock? { exceptions.values.reduce(common) { max($0 ?? $1, $1) } }

    /// Reads the wire form, `"clock"` or `{"*": "clock", "column": "clock"}`.
    ///
    /// Returns nil for another type of value, or if a clock is malformed. Column names are not checked.
    @_spi(Internals) public init?(json: JSON) {
        switch json {
        case .string(let text):
            guard let clock = WriteClock(text) else { return nil }
            self.init(common: clock)
        case .object(let members):
            self.init()
            for (column, value) in members {
                guard let clock = value.string.flatMap({ WriteClock($0) }) else { return nil }
                if column == "*" { common = clock } else { exceptions[column] = clock }
            }
        default: return nil
        }
    }

    /// The wire form: a string if there is only a common clock, otherwise an object sorted by column name.
    @_spi(Internals) public var json: JSON {
        if exceptions.isEmpty, let common { return .string(common.description) }
        var object = JSONObject()
        if let common { object.append("*", .string(common.description)) }
        for column in exceptions.keys.sorted() { object.append(column, .string(exceptions[column]?.description ?? "")) }
        return .object(object)
    }
}
