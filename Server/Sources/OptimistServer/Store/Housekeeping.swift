// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
import OptimistServing
import ServiceLifecycle

/// Forgets once an hour, beside the requests, what may be forgotten.
struct Housekeeping: Service {
    let sweep: TombstoneSweep
    let surroundings: Surroundings
    let logger: Logger

    static let interval = Duration.seconds(3600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await tidy()
                try? await surroundings.clock.sleep(for: Self.interval)
            }
        }
    }

    /// What fails is tried again the next time.
    private func tidy() async {
        do {
            try await sweep.run(now: surroundings.now())
        } catch is CancellationError {
        } catch {
            logger.warning("Deleted rows could not be removed", metadata: ["error.type": "\(type(of: error))"])
        }
    }
}
