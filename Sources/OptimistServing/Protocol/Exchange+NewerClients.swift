// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Apps whose schema differs from the server's: newer apps, for example during a rollout, and apps whose developer
/// forgot to update the server or the version number.
extension Exchange {
    /// If such a client sends something that this server does not know yet, the server does not refuse it for good,
    /// because a refusal would remove the row from the screen. The row waits until the server is up to date.
    ///
    /// For a column that the server does not know, this holds whatever version the app claims. If a device claims a
    /// later version than the server's, a value that this schema does not allow may also be right.
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
