// This source file is part of the Optimist open source project, under the MIT licence.

/// Wakes a task that waits for news. Rung several times before that, it wakes the task once.
struct Bell: Sendable {
    private let rings: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    init() { (rings, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func callAsFunction() { ring.yield() }

    /// Waits until it rings.
    ///
    /// - Returns: False if the task is cancelled.
    func wait() async -> Bool { await rings.first { _ in true } != nil }
}
