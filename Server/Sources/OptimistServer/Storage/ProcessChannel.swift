// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

package enum Announcement: Hashable, Sendable {
    /// `state` is the account's state after the change.
    case changed(account: String, types: Set<String>, state: SyncState)
    case ended(account: String, session: String, reason: SessionEnd)
}

/// Sends announcements between the processes that share a database. They are hints and may be lost.
package protocol ProcessChannel: Sendable {
    /// Returns immediately. Call it from any thread.
    func announce(_ announcement: Announcement)
    /// Receives announcements until the task is cancelled. Call it once.
    ///
    /// - Parameters:
    ///   - hear: Receives an announcement, on one of the channel's threads.
    ///   - catchUp: Looks for changes in the data. Called periodically, and when announcements may have been lost.
    ///     Calls may overlap.
    func run(hear: @escaping @Sendable (Announcement) -> Void, catchUp: @escaping @Sendable () async -> Void) async
}
