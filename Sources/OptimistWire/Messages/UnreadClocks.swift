// This source file is part of the Optimist open source project, under the MIT licence.

/// The clocks of values that a device replaced, or deleted with their row, without having seen them. For each column,
/// at most one clock per device that wrote such a value.
///
/// The values themselves are not stored: the writing device still has its value when it receives the clock.
public struct UnreadClocks: Hashable, Sendable {
    private var columns: [String: [WriteClock]] = [:]

    /// Makes an empty list.
    public init() {}

    /// Reads the wire form, `{"column": ["clock"]}`, and skips malformed entries.
    init(json: JSON?) {
        for (column, clocks) in json?.object?.members ?? [] {
            for clock in clocks.array ?? [] {
                if let clock = clock.string.flatMap({ WriteClock($0) }) { add(clock, in: column) }
            }
        }
    }

    var json: JSON {
        .object(
            JSONObject(
                columns.sorted { $0.key < $1.key }.map { column, clocks in
                    (column, .array(clocks.map { .string($0.description) }))
                }))
    }

    /// Whether the list is empty.
    public var isEmpty: Bool { columns.isEmpty }
    var count: Int { columns.values.reduce(0) { $0 + $1.count } }

    /// The clocks of a column, earliest first.
    public subscript(column: String) -> [WriteClock] { columns[column] ?? [] }

    package func contains(device: String, in column: String) -> Bool { self[column].contains { $0.device == device } }

    /// Adds a clock. A device's later clock in a column replaces its earlier one.
    public mutating func add(_ clock: WriteClock, in column: String) {
        var clocks = self[column]
        if clocks.contains(where: { $0.device == clock.device && $0 >= clock }) { return }
        clocks.removeAll { $0.device == clock.device }
        clocks.append(clock)
        columns[column] = clocks.sorted()
    }

    package mutating func add(_ others: UnreadClocks) {
        for (column, clocks) in others.columns { for clock in clocks { add(clock, in: column) } }
    }

    package mutating func remove(device: String, in column: String) {
        guard let clocks = columns[column] else { return }
        let others = clocks.filter { $0.device != device }
        columns[column] = others.isEmpty ? nil : others
    }

    /// Keeps only the latest `limit` clocks across all columns.
    package mutating func keep(latest limit: Int) {
        if count <= limit { return }
        let all = columns.flatMap { column, clocks in clocks.map { (clock: $0, column: column) } }
        let latest = all.sorted { ($1.clock, $1.column) < ($0.clock, $0.column) }.prefix(limit)
        columns = [:]
        for (clock, column) in latest { add(clock, in: column) }
    }

    package func of(devices: Set<String>) -> UnreadClocks {
        var own = UnreadClocks()
        own.columns = columns.mapValues { $0.filter { devices.contains($0.device) } }.filter { !$0.value.isEmpty }
        return own
    }

    /// The same clocks under renamed columns.
    package func renamed(_ name: (String) -> String) -> UnreadClocks {
        var renamed = UnreadClocks()
        for (column, clocks) in columns { for clock in clocks { renamed.add(clock, in: name(column)) } }
        return renamed
    }
}
