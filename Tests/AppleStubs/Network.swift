// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's Network framework that the adapters use, for type-checking on Linux. Never run.
public import Dispatch

public struct NWInterface: Sendable, Hashable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }

    public var type: InterfaceType { .other }
    public var name: String { "" }
}

public struct NWPath: Sendable, Equatable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }

    public var status: Status { .satisfied }
    public var isExpensive: Bool { false }
    public var isConstrained: Bool { false }
    public var availableInterfaces: [NWInterface] { [] }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

public final class NWPathMonitor: Sendable {
    public init() {}
    public init(requiredInterfaceType: NWInterface.InterfaceType) {}

    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set {}
    }
    public var currentPath: NWPath { NWPath() }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
