// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistWire

/// An operator's order about webhooks, from `optimist webhook …`.
package enum WebhookOrder: Codable, Hashable, Sendable {
    case list
    /// Switches a receiver on, and tries all accounts at once.
    case resume(name: String)
    /// Sends from a transaction on.
    ///
    /// - Parameters:
    ///   - seq: The first transaction to send. `Int64.max` skips all transactions.
    ///   - account: Nil: in all accounts.
    case replay(name: String, seq: Int64, account: String?)
}

extension Accounts {
    /// - Throws: ``OptimistError`` with code `account.notFound`, also if the account does not have the transaction.
    func carryOut(_ order: WebhookOrder) async throws -> JSON {
        switch order {
        case .list: return ["webhooks": .array(try await webhooks())]
        case .resume(let name):
            try await checkWebhook(name)
            try await resume(name)
            return ["resumed": .string(name)]
        case .replay(let name, let seq, let account):
            try await checkWebhook(name)
            if let account { try await check(account, has: seq) }
            try await store.set(positionsOf: name, to: max(0, seq - 1), in: account)
            try await resume(name)
            return ["replayed": .string(name)]
        }
    }

    func webhooks() async throws -> [JSON] { try await store.webhooks().map(\.json) }

    private func resume(_ name: String) async throws {
        try await store.change(webhook: name) { record in
            record.offSince = nil
            record.restarts += 1
        }
    }

    private func check(_ account: String, has seq: Int64) async throws {
        let last: Int64
        do { last = try await spaces.summary(of: account).seq } catch StoreError.noAccount {
            throw OptimistError(
                .notFound, "There is no account with this id. `optimist account list` lists all accounts.")
        }
        // An account without transactions also has a start and an end.
        guard seq <= max(last, 1) || seq == .max else {
            throw OptimistError(
                .notFound,
                """
                The account does not have the transaction \(seq): its last one is \(last). The webhook was not \
                changed. `--from end` skips all transactions so far.
                """)
        }
    }

    private func checkWebhook(_ name: String) async throws {
        guard try await store.webhooks().contains(where: { $0.name == name }) else {
            throw OptimistError(
                .notFound, "There is no webhook with this name. `optimist webhook list` lists all webhooks.")
        }
    }
}
