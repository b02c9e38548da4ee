// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import GRDB

extension DatabaseWriter {
    /// Keeps the writer busy until the semaphore is signalled. Returns when all earlier writes have ended.
    func hold() async -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { held in
            asyncWriteWithoutTransaction { _ in
                held.resume()
                gate.wait()
            }
        }
        return gate
    }
}
