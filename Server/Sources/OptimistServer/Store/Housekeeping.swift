// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
import OptimistServing
import ServiceLifecycle

/// Forgets once an hour, beside the requests, what may be forgotten.
struct Housekeeping: Service {
    let sweep: TombstoneSweep
    let accounts: Accounts
    /// Nil: the server keeps no app's health.
    let health: HealthReception?
    /// Runs the work, or does nothing if another process is running it.
    let exclusively: @Sendable (@Sendable () async -> Void) async -> Void
    let surroundings: Surroundings
    let logger: Logger

    static let interval = Duration.seconds(3600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await exclusively { await tidy() }
                try? await surroundings.clock.sleep(for: Self.interval)
            }
        }
    }

    private func tidy() async {
        await attempt("Deleted rows could not be removed") { try await sweep.run(now: surroundings.now()) }
        await attempt("A deleted account could not be erased") { try await accounts.eraseDeleted() }
        await attempt("Old sessions could not be removed") { try await accounts.forgetSessions() }
        await attempt("Old totals of the app's health could not be removed") {
            try await health?.sweep(at: surroundings.now())
        }
    }

    /// What fails is tried again the next time.
    private func attempt(_ failure: Logger.Message, _ work: () async throws -> Void) async {
        do {
            try await work()
        } catch is CancellationError {
        } catch {
            logger.warning(failure, metadata: ["error.type": "\(type(of: error))"])
        }
    }
}
