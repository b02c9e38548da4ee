// This source file is part of the Optimist open source project, under the MIT licence.

/// A hint about the network. It only makes the next attempt happen sooner, and never keeps the session from trying.
public protocol Reachability: Sendable {
    /// The current network, and each change that the system reports. The stream ends when its consumer stops.
    var updates: AsyncStream<NetworkPath> { get }
}

/// The network that the device would use now, as far as it is known.
public struct NetworkPath: Sendable, Hashable {
    /// Whether a network is available.
    public var isOnline: Bool
    /// Whether traffic may cost the user money, as on a mobile network or hotspot. False if unknown.
    public var isExpensive: Bool
    /// Whether the user asked apps to reduce traffic, as in Low Data Mode. False if unknown.
    public var isConstrained: Bool

    /// Makes a path, by default a free and unlimited one.
    public init(isOnline: Bool, isExpensive: Bool = false, isConstrained: Bool = false) {
        self.isOnline = isOnline
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }
}
