// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's os framework that Optimist uses, with its signatures, for type-checking on Linux. Never run.
@frozen public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {}

extension OSAllocatedUnfairLock where State == () {
    public init() {}
    @available(*, noasync, message: "Use async-safe scoped locking instead")
    public func lock() {}
    @available(*, noasync, message: "Use async-safe scoped locking instead")
    public func unlock() {}
}
