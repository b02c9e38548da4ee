// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Apps whose schema differs from the server's: newer apps, for example during a rollout, and apps whose developer
/// forgot to update the server or the version number.
extension Exchange {
    /// How long a value waits that this schema does not allow, from its write on. By then the server is up to date, or
    /// the app's version number is wrong.
    static let longestWait: Int64 = 7 * 86_400_000

    /// If such a client sends something that this server does not know yet, the server does not refuse it for good,
    /// because a refusal would remove the row from the screen. The row waits until the server is up to date.
    ///
    /// For a column that the server does not know, this holds whatever version the app claims. If a device claims a
    /// later version than the server's, a value that this schema does not allow may also be right, and waits for a week.
    /// What the app's own checks refuse is refused: they are no part of the schema.
    ///
    /// - Parameter texts: The texts whose patterns were tried already, so that none is matched again.
    func waitingForUpdate(
        _ verdicts: [RowVerdict], of operations: [RowOperation], _ texts: MatchedTexts
    ) -> [RowVerdict] {
        let isNewer = request.schemaVersion.map { $0 > schema.version } ?? false
        guard isPush || isNewer else { return verdicts }
        return zip(operations, verdicts).map { operation, verdict in
            guard case .refused(let error) = verdict else { return verdict }
            let columns = schema.types[operation.key.type]?.columns ?? [:]
            let waiting =
                error.waiting(forUnknown: columns)
                ?? (isNewer && !isOld(operation) ? error.waiting(for: operation, columns, texts) : nil)
            return waiting.map { .refused($0) } ?? verdict
        }
    }

    /// Whether the latest write of an operation has waited as long as it may.
    private func isOld(_ operation: RowOperation) -> Bool {
        guard let written = operation.patch?.clocks?.latest?.stamp.milliseconds else { return false }
        return clock.milliseconds - written > Self.longestWait
    }
}

extension SetError {
    /// The columns at fault, if a later schema might allow what was refused. Empty: no schema would allow the row, or the
    /// app's own check has refused it.
    private var columnsAtFault: [String] {
        guard code == nil, type == "invalidProperties" || type == "tooLarge" else { return [] }
        return properties.filter { !$0.hasPrefix("@") && $0 != "id" }
    }

    /// The error of a row that waits for columns. Nil: the server knows all of them.
    fileprivate func waiting(forUnknown columns: [String: ColumnSchema]) -> SetError? {
        let unknown = columnsAtFault.filter { columns[$0] == nil }
        if unknown.isEmpty { return nil }
        return SetError(
            "schemaTooNew", "The server's schema has no column \(unknown.joined(separator: ", ")) yet.",
            properties: unknown)
    }

    /// The error of a row that waits for a schema that allows its values. Nil: this schema allows them.
    fileprivate func waiting(
        for operation: RowOperation, _ columns: [String: ColumnSchema], _ texts: MatchedTexts
    ) -> SetError? {
        let refused = columnsAtFault.filter { column in
            guard let value = operation.value(of: column) else { return false }
            return columns[column]?.objection(to: value, matches: texts.isMatch) != nil
        }
        if refused.isEmpty { return nil }
        return SetError(
            "valueTooNew", "The server's schema is older than the app's. \(description ?? "")", properties: refused)
    }
}

extension RowOperation {
    fileprivate var patch: RowPatch? {
        switch action {
        case .create(let patch), .update(let patch): patch
        case .destroy: nil
        }
    }

    /// The value that the operation gives a column: null if it creates a row without one. Nil: it gives none.
    fileprivate func value(of column: String) -> JSON? {
        if case .create(let patch) = action { return patch.values[column] ?? .null }
        return patch?.values[column]
    }
}
