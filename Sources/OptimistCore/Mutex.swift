// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(os)
    public import os
#else
    public import Synchronization
#endif

/// A value protected by a lock. It has the interface of `Synchronization.Mutex`, which Apple's systems provide only
/// from iOS 18 and macOS 15; on Apple's systems it uses a lock of the os framework.
@usableFromInline
package struct Mutex<Value>: ~Copyable, Sendable {
    #if canImport(os)
        @usableFromInline
        final class Storage: Sendable {
            @usableFromInline let lock = OSAllocatedUnfairLock()
            // Accessed only in `withLock`, under the lock.
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

    /// Runs `body` with exclusive access to the value. `body` must not lock this mutex again.
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
