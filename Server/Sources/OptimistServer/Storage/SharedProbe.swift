// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Tries whether the data can be written. Each try is a write and every client may ask, so callers within one second
/// share one try.
package actor SharedProbe {
    private let attempt: @Sendable (Date) async -> String?
    private let now: @Sendable () -> Date
    private var running: Task<String?, Never>?
    private var last: (trouble: String?, time: Date)?

    /// How long an answer is used, in seconds.
    private static let freshness = 1.0

    /// - Parameters:
    ///   - now: The date.
    ///   - attempt: Tries a write at a date. Returns a sentence about the trouble, or nil if it worked.
    package init(now: @escaping @Sendable () -> Date, attempt: @escaping @Sendable (Date) async -> String?) {
        self.now = now
        self.attempt = attempt
    }

    /// Returns a sentence about the trouble, or nil if the data can be written.
    package func trouble() async -> String? {
        if let running { return await running.value }
        let time = now()
        if let last, abs(time.timeIntervalSince(last.time)) < Self.freshness { return last.trouble }
        // Several callers share the try, so that none of them can cancel it.
        let task = Task { [attempt] in await attempt(time) }
        running = task
        let trouble = await task.value
        running = nil
        last = (trouble, time)
        return trouble
    }
}
