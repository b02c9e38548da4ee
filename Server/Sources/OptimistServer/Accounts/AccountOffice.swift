// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Hummingbird
import Logging
package import OptimistCore
import OptimistServing
package import OptimistWire
import ServiceLifecycle

/// Carries out an operator's orders, whether or not a server is running.
///
/// Only one process can use a data directory. If no server uses it, the order opens it directly. A running server takes
/// orders at a socket in its directory, and immediately notifies the devices that listen to the server. Only the
/// directory's owner can open the socket.
package enum AccountOffice {
    /// HTTP over a Unix socket: `POST /orders` and `POST /imports`.
    package static func socket(at directory: URL) -> URL { directory.appending(path: "control.sock") }

    /// Carries out an order in a directory that is not used by a server.
    ///
    /// - Returns: The result, in the same form as from the server's socket.
    /// - Throws: `OptimistError` with code `dataInUse` if a server uses the directory; send the order to its socket
    ///   instead. With code `unreadableData` if there is no server data. Also the errors of the order.
    package static func carryOut(
        _ order: AccountOrder, at directory: URL, dependencies: Dependencies = Dependencies()
    ) async throws -> JSON {
        let storage = try open(directory, dependencies)
        defer { storage.close() }
        // Other orders also work on data with a schema that this version cannot read.
        let schema: Schema? = if case .key(.create) = order { try RememberedSchema.read(in: directory) } else { nil }
        return try await carryOut(order, in: storage, of: schema, dependencies)
    }

    /// Opens a directory that is not used by a server.
    ///
    /// - Throws: `OptimistError` with code `dataInUse` or `unreadableData`.
    package static func open(
        _ directory: URL, _ dependencies: Dependencies = Dependencies()
    ) throws -> OpenedStorage {
        let file = try ServerDatabase.existingFile(in: directory)
        let lock = try DirectoryLock(directory: directory)
        let database = try ServerDatabase(path: file.path, epoch: nil)
        let commits = GroupCommit(writer: database.pool)
        return OpenedStorage(
            rows: SQLiteSyncStore(database, commits: commits),
            accounts: SQLiteAccountStore(reader: database.pool, commits: commits),
            health: SQLiteHealthStore(reader: database.pool, commits: commits),
            attempts: LocalAttempts(elapsed: dependencies.clock.stopwatch()),
            keys: try ServerKeys(directory: directory),
            trouble: { nil }, close: { lock.release() })
    }

    /// - Parameter schema: Nil: no server has served the data, or the order does not need a schema.
    package static func carryOut(
        _ order: AccountOrder, in storage: OpenedStorage, of schema: Schema?,
        _ dependencies: Dependencies = Dependencies()
    ) async throws -> JSON {
        let configuration = ServerConfiguration(
            storage: ServerStorage { _ in storage }, schema: schema ?? .ofNoRows, dependencies: dependencies)
        var settings = configuration.accountSettings
        if schema == nil { settings.types = nil }
        let pokes = Pokes(channel: storage.channel)
        let accounts = Accounts(
            storage: storage, access: AccessTokens(key: storage.keys.access, lifetime: 1),
            passwords: Passwords(cost: .ofThisProcess), pokes: pokes,
            tell: { pokes.announce(.changed(account: $0, types: $1, state: $2)) },
            settings: settings, forgetful: nil,
            log: SecurityLog(logger: Logger(label: "optimist.account") { _ in SwiftLogNoOpLogHandler() }),
            dependencies: dependencies)
        return try await accounts.carryOut(order)
    }
}

struct ControlSocket: Service {
    let accounts: Accounts
    let imports: RowImport
    let file: URL
    let logger: Logger

    /// The size of a Unix socket's address, without its terminator.
    private static let maxPathBytes = 103

    func run() async throws {
        defer { unlink(file.path) }
        do {
            guard file.path.utf8.count <= Self.maxPathBytes else { throw POSIXError(.ENAMETOOLONG) }
            try await application.run()
        } catch is CancellationError {
        } catch {
            // The server also works without it.
            logger.warning(
                "The server cannot receive commands. Stop it before you use `optimist account`",
                metadata: ["socket": "\(file.path)", "error": "\(error)"])
            try? await gracefulShutdown()
        }
    }

    /// The largest batch of `optimist import`.
    private static let maxBatchBytes = 64 << 20

    private var application: some ApplicationProtocol {
        let router = Router()
        router.post("imports") { request, _ in
            try await Self.answer(request, upTo: Self.maxBatchBytes) { (batch: ImportBatch) in
                [UInt8](try JSONEncoder().encode(await imports.carryOut(batch)))
            }
        }
        router.post("orders") { request, _ in
            try await Self.answer(request, upTo: 65_536) { (order: AccountOrder) in
                try await accounts.carryOut(order).bytes
            }
        }
        // The application's messages about starting and stopping would repeat the server's messages.
        var logger = logger
        logger.logLevel = .critical
        return Application(
            router: router,
            configuration: .init(address: .unixDomainSocket(path: file.path), serverName: "Optimist"),
            onServerRunning: { [path = file.path] _ in chmod(path, 0o600) }, logger: logger)
    }

    private static func answer<Order: Decodable>(
        _ request: Request, upTo maxBytes: Int, _ carryOut: (Order) async throws -> [UInt8]
    ) async throws -> Response {
        let body = try await request.body.collect(upTo: maxBytes)
        guard let order = try? JSONDecoder().decode(Order.self, from: Data(body.readableBytesView)) else {
            return Response(.badRequest, body: Array("{}".utf8))
        }
        do {
            return Response(body: try await carryOut(order))
        } catch let error as OptimistError {
            return Response(.notFound, body: JSON.object(["error": .string(error.message)]).bytes)
        }
    }
}
