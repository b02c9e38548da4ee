// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Apps whose schema is not the server's: newer ones, as while an update is rolled out, and ones whose developer forgot the
/// server or the version's number.
extension Exchange {
    /// What such a client knows and this server does not is not refused for ever: a refusal would take the row from sight. It
    /// waits until the server is up to date.
    ///
    /// A column that the server does not know says that by itself, whatever version the app claims. A device that claims a
    /// later version than the server's may also be right about a value that this schema does not allow.
    func waitingForUpdate(_ verdicts: [RowVerdict], of operations: [RowOperation]) -> [RowVerdict] {
        let isNewer = request.schemaVersion.map { $0 > schema.version } ?? false
        guard isPush || isNewer else { return verdicts }
        return zip(operations, verdicts).map { operation, verdict in
            guard case .refused(let error) = verdict,
                let waiting = error.waiting(columns: schema.types[operation.key.type]?.columns ?? [:], isNewer: isNewer)
            else { return verdict }
            return .refused(waiting)
        }
    }
}

extension SetError {
    /// The error of a row that waits for another schema. Nil: no schema would allow the row.
    fileprivate func waiting(columns: [String: ColumnSchema], isNewer: Bool) -> SetError? {
        guard type == "invalidProperties" || type == "tooLarge" else { return nil }
        let own = properties.filter { !$0.hasPrefix("@") && $0 != "id" }
        let unknown = own.filter { columns[$0] == nil }
        if !unknown.isEmpty {
            return SetError(
                "schemaTooNew", "The server's schema has no column \(unknown.joined(separator: ", ")) yet.",
                properties: unknown)
        }
        guard isNewer, !own.isEmpty else { return nil }
        return SetError(
            "schemaTooNew", "The server's schema is older than the app's. \(description ?? "")", properties: own)
    }
}
