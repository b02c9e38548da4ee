// This source file is part of the Optimist open source project, under the MIT licence.

// What Optimist uses of Apple's os framework, with its signatures, so that it can be type-checked on Linux.
// Nothing here is ever run.
@frozen public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {}

extension OSAllocatedUnfairLock where State == () {
    public init() {}
    @available(*, noasync, message: "Use async-safe scoped locking instead")
    public func lock() {}
    @available(*, noasync, message: "Use async-safe scoped locking instead")
    public func unlock() {}
}
