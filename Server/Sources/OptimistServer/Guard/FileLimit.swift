// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// How many files, connections among them, the process may have open.
enum FileLimit {
    /// More than one machine's worth of connections. Some programs that are started walk through all that are allowed.
    private static let most = 65_536
    /// What the database, its readers and the event loops need.
    private static let reserved = 128

    /// Raises the limit as far as the system allows without rights of its own.
    ///
    /// - Returns: The limit from now on.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return 256 }
        let wanted = rlim_t(most)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(limit.rlim_max, wanted)
            // Darwin says that there is no limit, and takes no more than this.
            if setrlimit(files, &raised) != 0 { raised.rlim_cur = min(limit.rlim_max, 10_240) }
            if setrlimit(files, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many connections there may be under a limit of files.
    static func connections(under limit: Int) -> Int { limit - min(reserved, limit / 2) }

    #if canImport(Glibc)
        private static var files: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var files: CInt { CInt(RLIMIT_NOFILE) }
    #endif
}
