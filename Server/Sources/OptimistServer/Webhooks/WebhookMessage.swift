// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// A transaction as a receiver gets it.
struct WebhookMessage {
    /// The same for each repetition, also after a restart of the server. A transaction of a restored database that
    /// takes the number of a lost one has another id, because it has another epoch.
    let id: String
    let body: [UInt8]

    init(_ transaction: AppliedTransaction, rows: [AppliedRow], epoch: String) {
        id = "tx_\(epoch)_\(transaction.account)_\(transaction.seq)"
        let message: JSON = [
            "type": "transaction",
            "data": [
                "account": .string(transaction.account),
                "space": transaction.space.map(JSON.string) ?? .null,
                "seq": .int(transaction.seq), "epoch": .string(epoch),
                "rows": .array(
                    rows.map { row in
                        [
                            "type": .string(row.key.type), "id": .string(row.key.id),
                            "values": row.values.map(JSON.object) ?? .null, "isNew": .bool(row.isNew),
                            "writer": row.writer.json,
                        ]
                    }),
            ],
        ]
        body = message.bytes
    }
}

extension Writer {
    var json: JSON {
        switch self {
        case .person(let id): ["kind": "person", "id": .string(id)]
        case .serviceKey(let id): ["kind": "serviceKey", "id": .string(id)]
        case .server: ["kind": "server"]
        }
    }
}

extension Webhook {
    /// The rows of a transaction for the receiver. Nil: the transaction is not for it.
    func rows(of transaction: AppliedTransaction) -> [AppliedRow]? {
        guard let types else { return transaction.rows }
        let rows = transaction.rows.filter { types.contains($0.key.type) }
        return rows.isEmpty ? nil : rows
    }

    func includes(_ kind: AccountKind) -> Bool {
        switch scope {
        case .all: true
        case .persons: kind == .person
        case .spaces: kind != .person
        }
    }
}
