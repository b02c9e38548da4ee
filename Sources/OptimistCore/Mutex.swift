// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(os)
    public import os

    /// A value that one thread at a time reads and changes. Apple's systems have `Synchronization.Mutex` from iOS 18 and
    /// macOS 15 on. Here is what stands in for it before that.
    @usableFromInline
    package struct Mutex<Value>: ~Copyable, Sendable {
        @usableFromInline let storage: Storage

        @inlinable
        package init(_ value: consuming sending Value) {
            storage = Storage(value)
        }

        /// Runs `body` with the value while no other thread does. `body` must not come back to this lock.
        @inlinable
        package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            storage.lock.lock()
            defer { storage.lock.unlock() }
            return try body(&storage.value)
        }

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
    }
#else
    public import Synchronization

    /// A value that one thread at a time reads and changes: `Synchronization.Mutex`, with the interface that it has on Apple's
    /// systems.
    @usableFromInline
    package struct Mutex<Value>: ~Copyable, Sendable {
        @usableFromInline let lock: Synchronization.Mutex<Value>

        @inlinable
        package init(_ value: consuming sending Value) {
            lock = Synchronization.Mutex(value)
        }

        /// Runs `body` with the value while no other thread does. `body` must not come back to this lock.
        @inlinable
        package borrowing func withLock<Result, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try lock.withLock(body)
        }
    }
#endif
