// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Caches whether the texts of a request match the patterns of their columns.
///
/// The service matches texts before the transaction, so that other writes do not wait. The evaluation matches the
/// remaining texts, for example a text that a result reference supplies.
struct MatchedTexts: Sendable {
    private var known: [TextPattern: [IndexKey: Bool]] = [:]

    static let workPerStep = 512

    /// Matches a value against its column's pattern, if the column has a pattern, and returns the number of steps.
    @discardableResult
    mutating func match(_ value: JSON, of column: ColumnSchema?, _ meter: WorkMeter?) throws -> Int {
        guard let pattern = column?.rules.pattern, let text = value.string else { return 0 }
        let key = IndexKey(text)
        if known[pattern]?[key] != nil { return 0 }
        let (isMatch, work) = pattern.match(text)
        known[pattern, default: [:]][key] = isMatch
        let steps = work / Self.workPerStep + 1
        try meter?.step(count: steps)
        return steps
    }

    /// Whether a text matches. A text that is not in the cache is matched now, and no meter counts the work.
    func isMatch(_ pattern: TextPattern, _ text: String) -> Bool {
        known[pattern]?[IndexKey(text)] ?? pattern.matches(text)
    }
}

// MARK: - Before the transaction

extension MatchedTexts {
    /// After this many steps, a request yields the thread to other tasks.
    private static let stepsInTurn = 256

    /// Matches the texts that a request's `/set` and `/copy` calls write to columns with patterns.
    ///
    /// - Throws: The meter's error.
    init(_ request: Request, _ schema: Schema, _ meter: WorkMeter) async throws {
        guard schema.hasPatterns else { return }
        let vocabulary = Vocabulary(schema, version: request.schemaVersion)
        var turn = 0
        for call in request.methodCalls where call.writes {
            guard let name = call.name.split(separator: "/").first.map({ vocabulary.presentType(String($0)) }),
                let type = schema.types[name], type.hasPatterns
            else { continue }
            for (_, row) in ["create", "update"].lazy.flatMap({ call.arguments[$0]?.object?.members ?? [] }) {
                for (column, value) in row.object?.members ?? [] {
                    turn += try match(value, of: type.columns[vocabulary.presentColumn(column, of: name)], meter)
                    guard turn >= Self.stepsInTurn else { continue }
                    turn = 0
                    await Task.yield()
                }
            }
        }
    }
}

extension Schema {
    fileprivate var hasPatterns: Bool { types.values.contains(where: \.hasPatterns) }
}

extension TypeSchema {
    fileprivate var hasPatterns: Bool { columns.values.contains { $0.rules.pattern != nil } }
}
