// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Handles apps whose schema differs from the server's, for example during a rollout, or because a developer forgot to
/// update the server or the version number.
extension Exchange {
    /// How long to wait for a schema that allows a value, in milliseconds since the value was written. After that,
    /// either the server is up to date or the app's version number is wrong.
    static let longestWait: Int64 = 7 * 86_400_000

    /// Postpones rows that a newer schema might allow. A refusal would remove such a row from the screen, so the row
    /// waits until the server is updated.
    ///
    /// A row with unknown columns waits, whatever version the app claims. If the app claims a later version than the
    /// server's, a row with a value that this schema does not allow waits for up to a week. Refusals by the app's own
    /// checks remain, because they do not depend on the schema.
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

    private func isOld(_ operation: RowOperation) -> Bool {
        guard let written = operation.patch?.clocks?.latest?.stamp.milliseconds else { return false }
        return clock.milliseconds - written > Self.longestWait
    }
}

extension SetError {
    /// The columns at fault, if a later schema might allow them.
    private var columnsAtFault: [String] {
        guard code == nil, type == "invalidProperties" || type == "tooLarge" else { return [] }
        return properties.filter { !$0.hasPrefix("@") && $0 != "id" }
    }

    fileprivate func waiting(forUnknown columns: [String: ColumnSchema]) -> SetError? {
        let unknown = columnsAtFault.filter { columns[$0] == nil }
        if unknown.isEmpty { return nil }
        return SetError(
            "schemaTooNew", "The server's schema does not have \(unknown.joined(separator: ", ")) yet.",
            properties: unknown)
    }

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

    /// The value that the operation gives a column. If the operation creates a row without this column, null. Nil: no
    /// value.
    fileprivate func value(of column: String) -> JSON? {
        if case .create(let patch) = action { return patch.values[column] ?? .null }
        return patch?.values[column]
    }
}
