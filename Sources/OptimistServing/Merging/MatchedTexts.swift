// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Whether the texts of a request match the patterns of their columns.
///
/// The service matches them before the transaction, because other writes wait for a transaction. The evaluation matches the
/// rest, such as a text to which a reference points.
struct MatchedTexts: Sendable {
    /// By pattern, and by the bytes of the text.
    private var known: [TextPattern: [IndexKey: Bool]] = [:]

    /// How much work of a match counts as one step of a meter.
    static let workPerStep = 512

    /// Matches a value of a column, unless it was matched before or the column has no pattern.
    ///
    /// - Returns: How many steps it took, at least 0.
    /// - Throws: What the meter throws.
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

    /// Whether a text matches. A text that was not matched before is matched now, and not counted.
    func isMatch(_ pattern: TextPattern, _ text: String) -> Bool {
        known[pattern]?[IndexKey(text)] ?? pattern.matches(text)
    }
}

// MARK: - Before the transaction

extension MatchedTexts {
    /// How many steps a request may take before other tasks get the thread.
    private static let stepsInTurn = 256

    /// Matches the texts that the `/set` calls of a request give to columns with patterns.
    ///
    /// - Throws: What the meter throws: the work has a budget of its own.
    init(_ request: Request, _ schema: Schema, _ meter: WorkMeter) async throws {
        guard schema.hasPatterns else { return }
        let vocabulary = Vocabulary(schema, version: request.schemaVersion)
        var turn = 0
        for call in request.methodCalls where call.isSet {
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
