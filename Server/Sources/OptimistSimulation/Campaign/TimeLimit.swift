// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes the system end this process when it runs too long, whatever its code does.
package enum TimeLimit {
    /// - Parameter cpuSeconds: The limit of CPU time. The limit in wall-clock time is ten times as long, because the
    ///   process may wait forever.
    package static func set(cpuSeconds: Int) {
        // A child inherits the signal mask of the thread that started it, and pool threads block these signals.
        var wanted = sigset_t()
        sigemptyset(&wanted)
        for signal in signals { sigaddset(&wanted, signal) }
        pthread_sigmask(SIG_UNBLOCK, &wanted, nil)
        var limit = rlimit()
        limit.rlim_cur = rlim_t(cpuSeconds)
        // At the hard limit the system sends SIGKILL, which looks like running out of memory.
        limit.rlim_max = rlim_t(cpuSeconds) + 5
        setrlimit(resource, &limit)
        alarm(UInt32(clamping: cpuSeconds * 10))
    }

    /// The signals that end the process at a limit.
    static let signals: Set<Int32> = [SIGXCPU, SIGALRM]

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_CPU.rawValue)
    #else
        private static let resource = RLIMIT_CPU
    #endif
}
