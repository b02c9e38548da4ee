// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Hummingbird
import Logging
package import OptimistCore
import OptimistServing
package import OptimistWire
import ServiceLifecycle

/// Carries out an operator's orders about accounts, whether or not a server runs.
///
/// One process has a data directory. While no server has it, an order opens it and is carried out there. A server that
/// runs takes orders at a socket in its directory, which only the directory's owner can open: it alone knows who listens,
/// so that devices hear at once what was done.
package enum AccountOffice {
    /// Where a running server takes orders: HTTP over a Unix socket, `POST /orders`.
    package static func socket(at directory: URL) -> URL { directory.appending(path: "control.sock") }

    /// Carries out an order in a directory that no server has.
    ///
    /// - Returns: What there is to say, in the form in which the server's socket says it.
    /// - Throws: `OptimistError` with code `dataInUse` when a server has the directory: ask it at its socket. With code
    ///   `unreadableData` when there is no server's data, and as the order's own errors.
    package static func carryOut(
        _ order: AccountOrder, at directory: URL, dependencies: Dependencies = Dependencies()
    ) async throws -> JSON {
        let file = try ServerDatabase.existingFile(in: directory)
        let lock = try DirectoryLock(directory: directory)
        defer { lock.release() }
        let database = try ServerDatabase(path: file.path, epoch: nil)
        let commits = GroupCommit(writer: database.pool)
        let storage = OpenedStorage(
            rows: SQLiteSyncStore(database, commits: commits),
            accounts: SQLiteAccountStore(reader: database.pool, commits: commits),
            health: SQLiteHealthStore(reader: database.pool, commits: commits),
            attempts: LocalAttempts(elapsed: dependencies.clock.stopwatch()),
            keys: try ServerKeys(directory: directory),
            trouble: { nil })
        return try await carryOut(order, in: storage, dependencies)
    }

    /// Carries out an order in data that has been opened.
    package static func carryOut(
        _ order: AccountOrder, in storage: OpenedStorage, _ dependencies: Dependencies = Dependencies()
    ) async throws -> JSON {
        let configuration = ServerConfiguration(
            storage: ServerStorage { _ in storage }, schema: .ofNoRows, dependencies: dependencies)
        let accounts = Accounts(
            storage: storage, access: AccessTokens(key: storage.keys.access, lifetime: 1),
            passwords: Passwords(cost: .ofThisProcess), pokes: Pokes(channel: storage.channel),
            settings: configuration.accountSettings, forgetful: nil,
            log: SecurityLog(logger: Logger(label: "optimist.account") { _ in SwiftLogNoOpLogHandler() }),
            dependencies: dependencies)
        return try await accounts.carryOut(order)
    }
}

/// Takes an operator's orders while the server runs.
struct ControlSocket: Service {
    let accounts: Accounts
    let file: URL
    let logger: Logger

    /// What the address of a Unix socket holds, less its end.
    private static let maxPathBytes = 103

    func run() async throws {
        defer { unlink(file.path) }
        do {
            guard file.path.utf8.count <= Self.maxPathBytes else { throw POSIXError(.ENAMETOOLONG) }
            try await application.run()
        } catch is CancellationError {
        } catch {
            // A server without it serves as well.
            logger.warning(
                "No orders are taken while the server runs: stop it for `optimist account`",
                metadata: ["socket": "\(file.path)", "error": "\(error)"])
            try? await gracefulShutdown()
        }
    }

    private var application: some ApplicationProtocol {
        let router = Router()
        router.post("orders") { request, _ in
            let body = try await request.body.collect(upTo: 65_536)
            guard let order = try? JSONDecoder().decode(AccountOrder.self, from: Data(body.readableBytesView)) else {
                return Response(.badRequest, body: Array("{}".utf8))
            }
            do {
                return Response(body: try await accounts.carryOut(order).bytes)
            } catch let error as OptimistError {
                let answer: JSON = ["error": .string(error.message)]
                return Response(.notFound, body: answer.bytes)
            }
        }
        // It ends with the server, which is no error of its own.
        var logger = logger
        logger.logLevel = .critical
        return Application(
            router: router,
            configuration: .init(address: .unixDomainSocket(path: file.path), serverName: "Optimist"),
            onServerRunning: { [path = file.path] _ in chmod(path, 0o600) }, logger: logger)
    }
}
