// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Tests whether the data can be written. Each test is a write and any client may ask for one, so callers within a
/// second share a test.
package actor SharedProbe {
    private let attempt: @Sendable (Date) async -> String?
    private let now: @Sendable () -> Date
    private var running: Task<String?, Never>?
    private var last: (trouble: String?, time: Date)?

    /// How long a result is reused, in seconds.
    private static let freshness = 1.0

    /// - Parameter attempt: Attempts a write. Returns a sentence about the problem, or nil.
    package init(now: @escaping @Sendable () -> Date, attempt: @escaping @Sendable (Date) async -> String?) {
        self.now = now
        self.attempt = attempt
    }

    /// Returns a sentence about the problem, or nil.
    package func trouble() async -> String? {
        if let running { return await running.value }
        let time = now()
        if let last, abs(time.timeIntervalSince(last.time)) < Self.freshness { return last.trouble }
        // Unstructured, so that cancelling one caller does not cancel the test for the others.
        let task = Task { [attempt] in await attempt(time) }
        running = task
        let trouble = await task.value
        running = nil
        last = (trouble, time)
        return trouble
    }
}
