// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(os)
    public import os
#else
    public import Synchronization
#endif

/// A value that one thread at a time reads and changes. It has the interface of `Synchronization.Mutex`, which Apple's systems
/// have from iOS 18 and macOS 15 on. There it is a lock of the os framework.
@usableFromInline
package struct Mutex<Value>: ~Copyable, Sendable {
    #if canImport(os)
        @usableFromInline
        final class Storage: Sendable {
            @usableFromInline let lock = OSAllocatedUnfairLock()
            // Only `withLock` touches it, and holds the lock meanwhile.
            @usableFromInline nonisolated(unsafe) var value: Value

            @inlinable
            init(_ value: consuming sending Value) {
                self.value = value
            }
        }

        @usableFromInline let storage: Storage
    #else
        @usableFromInline let storage: Synchronization.Mutex<Value>
    #endif

    @inlinable
    package init(_ value: consuming sending Value) {
        #if canImport(os)
            storage = Storage(value)
        #else
            storage = Synchronization.Mutex(value)
        #endif
    }

    /// Runs `body` with the value while no other thread does. `body` must not come back to this lock.
    @inlinable
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if canImport(os)
            storage.lock.lock()
            defer { storage.lock.unlock() }
            return try body(&storage.value)
        #else
            return try storage.withLock(body)
        #endif
    }
}
