// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
@_spi(Internals) import OptimistServing
import ServiceLifecycle

/// Removes expired data once an hour, and checks the clock once a minute.
struct Housekeeping: Service {
    let sweep: TombstoneSweep
    let accounts: Accounts
    /// Nil if the server does not collect health reports.
    let health: HealthReception?
    let storage: OpenedStorage
    let time: ServerTime
    let dependencies: Dependencies
    let logger: Logger

    static let interval = Duration.seconds(3600)
    static let lookInterval = Duration.seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            let elapsed = dependencies.clock.stopwatch()
            var next = Duration.zero
            while !Task.isCancelled {
                await attempt("The time could not be saved") { try await time.keep(in: storage) }
                if elapsed() >= next {
                    // Does nothing while another process runs housekeeping.
                    await storage.exclusively { await tidy() }
                    next = elapsed() + Self.interval
                }
                try? await dependencies.clock.sleep(for: Self.lookInterval)
            }
        }
    }

    private func tidy() async {
        await attempt("A deleted account could not be erased") { try await accounts.eraseDeleted() }
        await attempt("A space without members could not be deleted") { try await accounts.deleteEndedSpaces() }
        await attempt("Old attempts could not be removed") { try await storage.attempts.sweep() }
        if time.look() { return logger.error("The server's clock is not trusted, so old data is not removed.") }
        let now = time.believed()
        await attempt("Deleted rows could not be removed") { try await sweep.run(now: now) }
        await attempt("Old sessions could not be removed") { try await accounts.forgetSessions() }
        await attempt("Old health reports could not be removed") { try await health?.sweep(at: now) }
    }

    private func attempt(_ failure: Logger.Message, _ work: () async throws -> Void) async {
        do {
            try await work()
        } catch is CancellationError {
        } catch {
            logger.warning(failure, metadata: ["error.type": "\(type(of: error))"])
        }
    }
}
