// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Logging
import OptimistCore
@_spi(Internals) package import OptimistServing

/// Where a server keeps its data: its rows, its accounts, and the key that signs tokens.
///
/// ``directory(_:)`` needs nothing else. The product `OptimistPostgres` adds `postgres(_:secret:)`, a database that any
/// number of servers share.
///
/// A value only names the place, so making one opens and checks nothing. ``OptimistServer/init(configuration:)`` opens
/// the data, or makes it if there is none, and throws if it cannot. Another server can open the data once
/// ``OptimistServer/run()`` has ended, or the server was released.
public struct ServerStorage: Sendable {
    /// Opens the data, or makes it. Throws `OptimistError` with a sentence that says what to do.
    package let open: @Sendable (ServerConfiguration) async throws -> OpenedStorage

    package init(open: @escaping @Sendable (ServerConfiguration) async throws -> OpenedStorage) { self.open = open }
}

/// The opened data of a server.
package struct OpenedStorage: Sendable {
    package var rows: any SyncStore
    package var accounts: any AccountStore
    package var health: any HealthStore
    package var attempts: any AttemptStore
    package var keys: ServerKeys
    /// Tries whether the data can be written. Returns a sentence about the trouble, or nil if there is none.
    package var trouble: @Sendable () async -> String?
    /// Carries changes and ended sessions to the other processes. Nil: no other process shares the data.
    package var channel: (any ProcessChannel)?
    /// How long a session's state may be used after it was read. Nil: without limit, because only this process ends sessions.
    package var standingLifetime: Duration?
    /// Runs housekeeping, or does nothing if another process is running it.
    package var exclusively: @Sendable (@Sendable () async -> Void) async -> Void
    /// Runs the reports to the app, or does nothing if another process is running them.
    package var reporting: @Sendable (@Sendable () async -> Void) async -> Void
    /// The socket on which a running server takes an operator's orders. Nil: the operator's command opens the data itself.
    package var controlSocket: URL?
    /// The highest time that a server of the data has seen, in seconds since 1970, as it was when the data was opened. Nil:
    /// none.
    package var highestTime: Double?
    /// Raises the highest time to the given one, or replaces it.
    package var keepTime: @Sendable (_ time: Double, _ replaces: Bool) async throws -> Void
    /// How large the data is, and what waits for it.
    package var figures: @Sendable () async throws -> StorageFigures
    /// Gives the data back, so that another server can open it. Nothing uses the data afterwards.
    package var close: @Sendable () -> Void

    package init(
        rows: any SyncStore, accounts: any AccountStore, health: any HealthStore, attempts: any AttemptStore,
        keys: ServerKeys,
        trouble: @escaping @Sendable () async -> String?, channel: (any ProcessChannel)? = nil,
        standingLifetime: Duration? = nil,
        exclusively: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() },
        reporting: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() },
        controlSocket: URL? = nil, highestTime: Double? = nil,
        keepTime: @escaping @Sendable (_ time: Double, _ replaces: Bool) async throws -> Void = { _, _ in },
        figures: @escaping @Sendable () async throws -> StorageFigures = { StorageFigures() },
        close: @escaping @Sendable () -> Void = {}
    ) {
        self.rows = rows
        self.accounts = accounts
        self.health = health
        self.attempts = attempts
        self.keys = keys
        self.trouble = trouble
        self.channel = channel
        self.standingLifetime = standingLifetime
        self.exclusively = exclusively
        self.reporting = reporting
        self.controlSocket = controlSocket
        self.highestTime = highestTime
        self.keepTime = keepTime
        self.figures = figures
        self.close = close
    }
}
