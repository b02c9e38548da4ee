// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Logging
import OptimistCore
@_spi(Internals) package import OptimistServing

/// The place of a server's data: its rows, its accounts, and the key that signs tokens.
///
/// ``directory(_:)`` does not need another service. The product `OptimistPostgres` adds `postgres(_:secret:)`, a
/// database that any number of servers can share.
///
/// Creating a value does not open or check anything. ``OptimistServer/init(configuration:)`` opens the data, or creates
/// it, and throws if it cannot. Another server can open the data after ``OptimistServer/run()`` has returned or the
/// server was released.
public struct ServerStorage: Sendable {
    /// Throws `OptimistError` with a message that says what to do.
    package let open: @Sendable (ServerConfiguration) async throws -> OpenedStorage

    package init(open: @escaping @Sendable (ServerConfiguration) async throws -> OpenedStorage) { self.open = open }
}

package struct OpenedStorage: Sendable {
    package var rows: any SyncStore
    package var accounts: any AccountStore
    package var health: any HealthStore
    package var attempts: any AttemptStore
    package var keys: ServerKeys
    /// Tests whether the data can be written. Returns a sentence about the problem, or nil.
    package var trouble: @Sendable () async -> String?
    /// Nil if no other process shares the data.
    package var channel: (any ProcessChannel)?
    /// How long a session's state may be cached. Nil is unlimited: only this process ends sessions.
    package var standingLifetime: Duration?
    /// Runs housekeeping, unless another process is running it.
    package var exclusively: @Sendable (@Sendable () async -> Void) async -> Void
    /// Runs the reports to the app, unless another process is running them.
    package var reporting: @Sendable (@Sendable () async -> Void) async -> Void
    /// Runs the calls of one webhook, unless another process is running them.
    package var delivering: @Sendable (_ webhook: String, @Sendable () async -> Void) async -> Void
    /// The socket for operators' orders to a running server. Nil if the operator's command opens the data itself.
    package var controlSocket: URL?
    /// The highest time in the data when it was opened, in seconds since 1970.
    package var highestTime: Double?
    /// Raises the highest time to the given one, or replaces it.
    package var keepTime: @Sendable (_ time: Double, _ replaces: Bool) async throws -> Void
    package var figures: @Sendable () async throws -> StorageFigures
    /// Lets another server open the data. Do not use it afterwards.
    package var close: @Sendable () -> Void

    package init(
        rows: any SyncStore, accounts: any AccountStore, health: any HealthStore, attempts: any AttemptStore,
        keys: ServerKeys,
        trouble: @escaping @Sendable () async -> String?, channel: (any ProcessChannel)? = nil,
        standingLifetime: Duration? = nil,
        exclusively: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() },
        reporting: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() },
        delivering: @escaping @Sendable (_ webhook: String, @Sendable () async -> Void) async -> Void = { await $1() },
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
        self.delivering = delivering
        self.controlSocket = controlSocket
        self.highestTime = highestTime
        self.keepTime = keepTime
        self.figures = figures
        self.close = close
    }
}
