// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import Synchronization

@_spi(Internals) @testable import OptimistServing

#if canImport(CDispatch)
    // The module where the compiler finds `timespec` on Linux.
    import CDispatch
#endif

/// A store that measures the processor time of its transactions, along with their steps.
final class MeasuredStore: SyncStore {
    /// The number of the transactions' steps, and the processor time of their threads.
    struct Work: Sendable {
        var steps = 0
        var time = Duration.zero

        /// Microseconds per step. Twenty steps are added for beginning a transaction.
        var microsecondsPerStep: Double { time / .microseconds(1) / Double(steps + 20) }
    }

    let base: any SyncStore
    private let work = Mutex(Work())

    init(_ base: any SyncStore) { self.base = base }

    var epoch: String { base.epoch }

    /// Returns the work since the last call.
    func take() -> Work {
        work.withLock { work in
            defer { work = Work() }
            return work
        }
    }

    func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ body: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        try await base.read(accounts: accounts, as: reader, entering: entrances) { [self] open in
            try measured(open.open.values.first) { try body(open) }
        }
    }

    func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ body: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        try await base.write(accounts: accounts, as: reader, entering: entrances) { [self] open in
            try measured(open.open.values.first) { try body(open) }
        }
    }

    func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        try await base.states(of: accounts, as: reader)
    }

    func accounts(after id: String?, limit: Int) async throws -> [String] {
        try await base.accounts(after: id, limit: limit)
    }

    /// All accounts of a request share one meter.
    private func measured<Answer>(_ snapshot: (any AccountSnapshot)?, _ body: () throws -> Answer) throws -> Answer {
        let begun = Self.threadTime
        defer {
            let (steps, time) = (snapshot?.meter?.steps ?? 0, Self.threadTime - begun)
            work.withLock { work in
                work.steps += steps
                work.time += time
            }
        }
        return try body()
    }

    /// The processor time of this thread.
    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
