// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Forgets old deleted rows in all accounts. It works in batches, so that no writer waits for more than one batch.
@_spi(Internals) public struct TombstoneSweep: Sendable {
    private let store: any SyncStore
    private let tombstoneDays: Int
    /// How many rows one transaction removes.
    private let batch: Int
    private static let accountsAtATime = 200

    /// Makes a sweep.
    ///
    /// - Parameters:
    ///   - store: The store that keeps the rows.
    ///   - tombstoneDays: How many days the server remembers a deleted row. Pass the same number as
    ///     ``ServingSettings/tombstoneDays``.
    ///   - batch: How many rows one transaction removes, from 1 on. Default: 500.
    public init(store: any SyncStore, tombstoneDays: Int, batch: Int = 500) {
        self.store = store
        self.tombstoneDays = tombstoneDays
        self.batch = batch
    }

    /// Goes through all accounts once.
    ///
    /// - Parameter now: The time of day.
    /// - Throws: The store's error, or `CancellationError`. Rows that it has forgotten by then stay forgotten.
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
            guard try await store.read(account: account, { try $0.hasExpired(expiry) }) else { return }
            var hasMore = true
            while hasMore {
                try Task.checkCancellation()
                hasMore = try await store.write(account: account) { [batch] in try $0.forget(expiry, limit: batch) }
            }
        } catch StoreError.noAccount {
            // The account was deleted meanwhile, with all its rows.
        }
    }
}
