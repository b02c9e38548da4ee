// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// A message from one server process to the others.
package enum Announcement: Hashable, Sendable {
    /// Rows of some types have changed. `state` is the account's state after the change.
    case changed(account: String, types: Set<String>, state: SyncState)
    /// A session has ended.
    case ended(account: String, session: String, reason: SessionEnd)
}

/// Carries announcements between the processes that share a database. An announcement is a hint: it may be lost.
package protocol ProcessChannel: Sendable {
    /// Tells the other processes soon, and returns at once. May be called on any thread.
    func announce(_ announcement: Announcement)
    /// Hears the other processes until the task is cancelled. Call it once.
    ///
    /// - Parameters:
    ///   - hear: Takes an announcement of another process, on a thread of the channel's.
    ///   - catchUp: Looks for changes in the data itself. Called from time to time, and when announcements may have been
    ///     lost. Two calls may overlap.
    func run(hear: @escaping @Sendable (Announcement) -> Void, catchUp: @escaping @Sendable () async -> Void) async
}
