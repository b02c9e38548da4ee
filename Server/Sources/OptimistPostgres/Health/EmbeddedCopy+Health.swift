// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

extension EmbeddedCopy {
    /// Requires an open transaction.
    static func copyHealth(_ source: EmbeddedExport, _ connection: PostgresConnection) throws {
        try source.health { row in
            switch row {
            case .totals(let key, let numbers):
                try connection.enqueue(HealthStatement.add, key.values + numbers.map { .int($0) })
                try connection.enqueue(HealthStatement.takeRoom, [.text(key.app), .int(key.day), .int(Int.max)])
            case .signature(let app, let key, let content, let lastDay):
                try connection.enqueue(
                    HealthStatement.addSignature, [.text(app), .text(key), .text(content), .int(lastDay)])
            case .signatureTotal(let key, let signature, let count, let unsent):
                try connection.enqueue(
                    HealthStatement.countSignature, key.values + [.text(signature), .int(count), .int(unsent)])
            }
        }
    }
}

extension EmbeddedExport.HealthKey {
    fileprivate var values: [PostgresValue] {
        [.text(app), .int(day), .text(version), .text(build), .text(install)]
    }
}
