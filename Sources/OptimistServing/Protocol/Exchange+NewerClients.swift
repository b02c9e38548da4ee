// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Apps whose schema is newer than the server's, as while an update is rolled out.
extension Exchange {
    /// What such a client knows and this server does not is not refused for ever. It waits until the server is up to date.
    func waitingForUpdate(_ verdicts: [RowVerdict], of operations: [RowOperation]) -> [RowVerdict] {
        guard let version = request.schemaVersion, version > schema.version else { return verdicts }
        return zip(operations, verdicts).map { operation, verdict in
            guard case .refused(let error) = verdict, error.type == "invalidProperties" else { return verdict }
            let columns = schema.types[operation.key.type]?.columns ?? [:]
            let unknown = error.properties.filter { columns[$0] == nil && !$0.hasPrefix("@") }
            if unknown.isEmpty { return verdict }
            return .refused(
                SetError(
                    "schemaTooNew", "The server does not know \(unknown.joined(separator: ", ")) yet.",
                    properties: unknown))
        }
    }
}
