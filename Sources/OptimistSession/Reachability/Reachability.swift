// This source file is part of the Optimist open source project, under the MIT licence.

/// A hint of whether a network is there. Only a hint (S6, T7): no attempt is ever refused for it, it only brings one forward.
public protocol Reachability: Sendable {
    /// What network is there: now, and after each change that the system reports. Ends with its consumer.
    var updates: AsyncStream<NetworkPath> { get }
}

/// What is known of the network that a device would use now.
public struct NetworkPath: Sendable, Hashable {
    /// Whether there is one.
    public var isOnline: Bool
    /// Whether its user may pay for what is sent, as on a mobile network or a hotspot.
    public var isExpensive: Bool
    /// Whether its user asked to send little, as in Low Data Mode.
    public var isConstrained: Bool

    public init(isOnline: Bool, isExpensive: Bool = false, isConstrained: Bool = false) {
        self.isOnline = isOnline
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}
