// This source file is part of the Optimist open source project, under the MIT licence.

/// Wakes a waiting task. Several rings before the task waits count as one.
struct Bell: Sendable {
    private let rings: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    init() { (rings, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func callAsFunction() { ring.yield() }

    /// - Returns: False if the task is cancelled.
    func wait() async -> Bool { await rings.first { _ in true } != nil }
}
