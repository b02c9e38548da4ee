// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

enum FileLimit {
    /// A higher limit would slow down programs that close all possible descriptors when they start.
    private static let most = 65_536
    /// For the database, its readers and the event loops.
    private static let reserved = 128

    /// Raises the limit as far as the system allows without special rights, and returns it.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return 256 }
        let wanted = rlim_t(most)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(limit.rlim_max, wanted)
            // Darwin may report no limit, but does not accept more than this.
            if setrlimit(files, &raised) != 0 { raised.rlim_cur = min(limit.rlim_max, 10_240) }
            if setrlimit(files, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    static func connections(under limit: Int) -> Int { limit - min(reserved, limit / 2) }

    #if canImport(Glibc)
        private static var files: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var files: CInt { CInt(RLIMIT_NOFILE) }
    #endif
}
