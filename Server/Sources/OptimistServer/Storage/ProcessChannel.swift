// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistWire

/// What one process of a server tells the others.
package enum Announcement: Hashable, Sendable {
    /// Rows of some types have changed.
    case changed(account: String, types: Set<String>, state: SyncState)
    /// A session has ended.
    case ended(account: String, session: String, reason: SessionEnd)
}

/// Carries announcements between the processes that share a database. What it carries are hints: one may be lost.
package protocol ProcessChannel: Sendable {
    /// Tells the other processes, soon.
    func announce(_ announcement: Announcement)
    /// Hears the others until the task is cancelled.
    ///
    /// - Parameters:
    ///   - hear: Takes what another process has announced.
    ///   - catchUp: Looks at the data itself. Called now and then, and whenever announcements may have been lost.
    func run(hear: @escaping @Sendable (Announcement) -> Void, catchUp: @escaping @Sendable () async -> Void) async
}
