// This source file is part of the Optimist open source project, under the MIT licence.

/// A hint of whether a network is there. The session never refuses to try because of it; a hint only brings the next
/// attempt forward.
public protocol Reachability: Sendable {
    /// The network that is there: now, and after each change that the system reports. The stream ends with its
    /// consumer.
    var updates: AsyncStream<NetworkPath> { get }
}

/// The network that a device would use now, as far as it is known.
public struct NetworkPath: Sendable, Hashable {
    /// Whether there is a network.
    public var isOnline: Bool
    /// Whether each byte may cost its user money, as on a mobile network or a hotspot. False if the system does not know.
    public var isExpensive: Bool
    /// Whether its user asked apps to send little, as in Low Data Mode. False if the system does not know.
    public var isConstrained: Bool

    /// Makes a path, by default one that is free and unlimited.
    public init(isOnline: Bool, isExpensive: Bool = false, isConstrained: Bool = false) {
        self.isOnline = isOnline
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}
