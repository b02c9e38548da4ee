// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Purges expired tombstones in all accounts, in batches, so that a writer waits for at most one batch.
@_spi(Internals) public struct TombstoneSweep: Sendable {
    private let store: any SyncStore
    private let tombstoneDays: Int
    private let batch: Int
    private static let accountsAtATime = 200

    /// - Parameters:
    ///   - tombstoneDays: The same number as ``ServingSettings/tombstoneDays``.
    ///   - batch: How many rows one transaction removes, at least 1. Default: 500.
    public init(store: any SyncStore, tombstoneDays: Int, batch: Int = 500) {
        self.store = store
        self.tombstoneDays = tombstoneDays
        self.batch = batch
    }

    /// Goes through all accounts once.
    ///
    /// - Throws: The store's error, or `CancellationError`. Rows already purged stay purged.
    public func run(now: Date) async throws {
        let expiry = Expiry(now: now, tombstoneDays: tombstoneDays)
        var last: String?
        while true {
            let accounts = try await store.accounts(after: last, limit: Self.accountsAtATime)
            for account in accounts { try await sweep(account, expiry) }
            guard let next = accounts.last else { return }
            last = next
        }
    }

    private func sweep(_ account: String, _ expiry: Expiry) async throws {
        do {
            guard try await store.read(account: account, as: .operator, { try $0.hasExpired(expiry) }) else { return }
            var hasMore = true
            while hasMore {
                try Task.checkCancellation()
                hasMore = try await store.write(account: account, as: .operator) { [batch] in
                    try $0.forget(expiry, limit: batch)
                }
            }
        } catch StoreError.noAccount {
            // The account was deleted during the sweep, with all its rows.
        }
    }
}
