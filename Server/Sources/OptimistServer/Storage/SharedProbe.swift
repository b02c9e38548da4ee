// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Tries whether the data can be written, for all who ask at about the same time: anybody may ask, and each try is a write.
package actor SharedProbe {
    private let attempt: @Sendable (Date) async -> String?
    private let now: @Sendable () -> Date
    private var running: Task<String?, Never>?
    private var last: (trouble: String?, time: Date)?

    /// For how long an answer is good, in seconds.
    private static let freshness = 1.0

    /// - Parameters:
    ///   - now: The time of day.
    ///   - attempt: Tries it at a time, and returns what is wrong, in a sentence, or nil.
    package init(now: @escaping @Sendable () -> Date, attempt: @escaping @Sendable (Date) async -> String?) {
        self.now = now
        self.attempt = attempt
    }

    /// Returns what is wrong, in a sentence, or nil.
    package func trouble() async -> String? {
        if let running { return await running.value }
        let time = now()
        if let last, abs(time.timeIntervalSince(last.time)) < Self.freshness { return last.trouble }
        // Those who ask at the same time share one try, so it belongs to none of them.
        let task = Task { [attempt] in await attempt(time) }
        running = task
        let trouble = await task.value
        running = nil
        last = (trouble, time)
        return trouble
    }
}
