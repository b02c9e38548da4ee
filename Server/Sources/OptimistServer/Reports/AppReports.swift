// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistWire
import ServiceLifecycle
import Synchronization

/// Hears of each account that changes, also in another process.
protocol AccountFollower: Sendable {
    func changed(account: String)
}

/// Reports every durable transaction to the app, at least once and in order within each account.
///
/// Progress is saved after the app's function has returned. After a crash in between, the server reports the same
/// transactions again.
final class AppReports: Service, AccountFollower {
    private let rows: any SyncStore
    private let schema: Schema
    private let didApply: @Sendable (AppliedTransaction) async throws -> Void
    private let exclusively: @Sendable (@Sendable () async -> Void) async -> Void
    private let clock: any Swift.Clock<Duration>
    private let logger: Logger
    private let open = Mutex<Set<String>>([])
    private let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    static let patience = Duration.seconds(30)
    /// How many waits of ``patience`` pass between two scans of all accounts, which find reports that a crashed process
    /// left.
    private static let waitsBetweenScans = 120
    /// How many transactions are reported before the progress is saved.
    private static let batch = 10

    init(
        rows: any SyncStore, schema: Schema, didApply: @escaping @Sendable (AppliedTransaction) async throws -> Void,
        exclusively: @escaping @Sendable (@Sendable () async -> Void) async -> Void, clock: any Swift.Clock<Duration>,
        logger: Logger
    ) {
        self.rows = rows
        self.schema = schema
        self.didApply = didApply
        self.exclusively = exclusively
        self.clock = clock
        self.logger = logger
    }

    /// Safe to call from any thread.
    func changed(account: String) {
        open.withLock { _ = $0.insert(account) }
        wake.yield()
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await self.keepTime() }
                for await _ in self.wakes {
                    if Task.isCancelled { break }
                    await self.reportAll()
                }
                group.cancelAll()
            }
        }
    }

    /// Retries failed reports, and from time to time scans all accounts.
    private func keepTime() async {
        while !Task.isCancelled {
            await addAll()
            for _ in 0..<Self.waitsBetweenScans {
                wake.yield()
                do { try await clock.sleep(for: Self.patience) } catch { return wake.finish() }
            }
        }
    }

    private func addAll() async {
        var last: String?
        while !Task.isCancelled {
            guard let page = try? await rows.accounts(after: last, limit: 1_000), !page.isEmpty else { return }
            open.withLock { $0.formUnion(page) }
            last = page.last
        }
    }

    /// If a report fails or another process reports an account, the account stays open until the next periodic wake.
    private func reportAll() async {
        if open.withLock(\.isEmpty) { return }
        await exclusively {
            let accounts = self.open.withLock { open in
                defer { open = [] }
                return open.sorted()
            }
            for account in accounts where !Task.isCancelled {
                do { try await self.report(account) } catch StoreError.noAccount {} catch {
                    self.open.withLock { _ = $0.insert(account) }
                    if error is CancellationError { continue }
                    self.logger.warning(
                        "The app's didApply failed. The server will call it again.",
                        metadata: ["error.type": "\(type(of: error))"])
                }
            }
        }
    }

    private func report(_ account: String) async throws {
        while true {
            try Task.checkCancellation()
            let page = try await rows.read(account: account, as: .operator) { [schema] snapshot in
                try snapshot.unreported(by: schema, limit: Self.batch)
            }
            guard let last = page.transactions.last else { return }
            for transaction in page.transactions { try await didApply(transaction) }
            try await rows.write(account: account, as: .operator) { try $0.noteReported(last.seq) }
            // ``changed(account:)`` announces later transactions.
            if !page.hasMore { return }
        }
    }
}
