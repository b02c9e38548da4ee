// This source file is part of the Optimist open source project, under the MIT licence.

import Glibc

/// Replaces OptimistCore's `Mutex` under the thread sanitizer, which does not know that lock on Linux.
///
/// > Note: Sendable, because it gives out its value only under the lock.
@usableFromInline
package struct Mutex<Value>: @unchecked Sendable {
    /// > Note: Sendable, because `value` is accessed only under the lock.
    private final class Box: @unchecked Sendable {
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        var value: Value

        init(_ value: consuming Value) {
            pthread_mutex_init(lock, nil)
            self.value = value
        }

        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }
    }

    private let box: Box

    @usableFromInline
    package init(_ value: consuming sending Value) { box = Box(value) }

    @usableFromInline
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(box.lock)
        defer { pthread_mutex_unlock(box.lock) }
        return try body(&box.value)
    }
}
