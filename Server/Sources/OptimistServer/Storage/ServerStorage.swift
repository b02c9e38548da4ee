// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Logging
import OptimistCore
package import OptimistServing

/// Where a server keeps its data.
///
/// ``directory(_:)`` needs nothing else. The product `OptimistPostgres` adds a database that any number of servers share.
public struct ServerStorage: Sendable {
    /// Opens the data, or makes it.
    package let open: @Sendable (ServerConfiguration) async throws -> OpenedStorage

    package init(open: @escaping @Sendable (ServerConfiguration) async throws -> OpenedStorage) { self.open = open }
}

/// What a server needs of its data.
package struct OpenedStorage: Sendable {
    package var rows: any SyncStore
    package var accounts: any AccountStore
    package var attempts: any AttemptStore
    package var keys: ServerKeys
    /// What is wrong with the data at this moment, in a sentence, or nil.
    package var trouble: @Sendable () async -> String?
    /// Carries pokes and ended sessions to the other processes. Nil: there are none.
    package var channel: (any ProcessChannel)?
    /// For how long a session that was looked up counts as it was then. Nil: for ever, since this process ends them all.
    package var standingLifetime: Duration?
    /// Carries out housekeeping, or does nothing if another process is at it.
    package var alone: @Sendable (@Sendable () async -> Void) async -> Void
    /// Where a running server takes an operator's orders. Nil: nowhere, since they can be carried out in the database.
    package var controlSocket: URL?
    /// What must live as long as the server.
    package var retained: any Sendable

    package init(
        rows: any SyncStore, accounts: any AccountStore, attempts: any AttemptStore, keys: ServerKeys,
        trouble: @escaping @Sendable () async -> String?, channel: (any ProcessChannel)? = nil,
        standingLifetime: Duration? = nil,
        alone: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() },
        controlSocket: URL? = nil, retained: any Sendable
    ) {
        self.rows = rows
        self.accounts = accounts
        self.attempts = attempts
        self.keys = keys
        self.trouble = trouble
        self.channel = channel
        self.standingLifetime = standingLifetime
        self.alone = alone
        self.controlSocket = controlSocket
        self.retained = retained
    }
}
