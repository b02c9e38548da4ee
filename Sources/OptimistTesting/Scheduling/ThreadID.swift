// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Identifies a thread, for comparison.
struct ThreadID: Hashable, Sendable {
    private let value: UInt

    static var current: Self {
        #if canImport(Darwin)
            Self(value: UInt(bitPattern: pthread_self()))
        #else
            Self(value: UInt(pthread_self()))
        #endif
    }
}
