// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch

/// Runs an actor's jobs on a dispatch queue, so that blocking work such as disk sync does not hold up other tasks.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, qos: .userInitiated) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
}
