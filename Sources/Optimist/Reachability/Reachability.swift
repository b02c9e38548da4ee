// This source file is part of the Optimist open source project, under the MIT licence.

/// A hint of whether a network is there. Only a hint (S6): no attempt is ever refused for it, it only brings one forward.
public protocol Reachability: Sendable {
    /// Whether some network is there: now, and after each change that the system reports. Ends with its consumer.
    var updates: AsyncStream<Bool> { get }
}
