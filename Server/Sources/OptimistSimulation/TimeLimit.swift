// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lets the system end this process when it does not end by itself. Nothing in the process can be in the way of that.
package enum TimeLimit {
    /// - Parameter cpuSeconds: How long the process may compute. As a whole it may take ten times as long, since it may wait
    ///   for something for ever.
    package static func set(cpuSeconds: Int) {
        // A child has the mask of the thread that started it, and those of a pool let such signals wait.
        var wanted = sigset_t()
        sigemptyset(&wanted)
        for signal in signals { sigaddset(&wanted, signal) }
        pthread_sigmask(SIG_UNBLOCK, &wanted, nil)
        var limit = rlimit()
        limit.rlim_cur = rlim_t(cpuSeconds)
        // At the harder limit the system kills, which could not be told from being out of memory.
        limit.rlim_max = rlim_t(cpuSeconds) + 5
        setrlimit(resource, &limit)
        alarm(UInt32(clamping: cpuSeconds * 10))
    }

    /// By what the system then ends it.
    static let signals: Set<Int32> = [SIGXCPU, SIGALRM]

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_CPU.rawValue)
    #else
        private static let resource = RLIMIT_CPU
    #endif
}
