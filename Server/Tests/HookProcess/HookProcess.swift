// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistPostgres
import OptimistServer
import OptimistServing
@_spi(Internals) import OptimistTesting
import OptimistWire

/// A server with hooks in a separate process, for tests that kill it.
///
/// Its arguments are `DIRECTORY PORT NOTES SECONDS`, or `URL PORT NOTES SECONDS` with the servers' secret in
/// OPTIMIST_SECRET. It serves the planner's schema, and prints `serving PORT` when it is ready. A token is valid for a
/// day, and the hook's deadline is SECONDS.
///
/// - `didApply` adds a line `ACCOUNT SEQ` to the file NOTES before it returns.
/// - `willApply` decides by the text of a to-do: it refuses `refuse` with the code `refused` and amends `amend` to
///   `amended`. On `fail` it fails, and on `hang` it waits until it is cancelled.
@main
struct HookProcess {
    private struct Trouble: Error {}

    static func main() async {
        do { try await run() } catch {
            print("HookProcess: \(error)")
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let port = Int(arguments[2]), let seconds = Int(arguments[4]) else {
            return print("HookProcess DIRECTORY|URL PORT NOTES SECONDS")
        }
        let notes = try FileHandle(forWritingTo: URL(filePath: arguments[3]))
        try notes.seekToEnd()
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                port: port, storage: try storage(arguments[1]), schema: .planner,
                hook: GroupHook(deadline: .seconds(seconds), willApply: willApply),
                didApply: { transaction in
                    try notes.write(contentsOf: Data("\(transaction.account) \(transaction.seq)\n".utf8))
                }, accessTokenLifetime: .seconds(86_400)))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            FileHandle.standardOutput.write(Data("serving \(try await server.port)\n".utf8))
            try await tasks.waitForAll()
        }
    }

    private static func storage(_ place: String) throws -> ServerStorage {
        guard place.hasPrefix("postgres://") else {
            return .directory(URL(filePath: place, directoryHint: .isDirectory))
        }
        let secret = ProcessInfo.processInfo.environment["OPTIMIST_SECRET"] ?? ""
        return .postgres(PostgresDatabase(url: place), secret: try ServerKeys(secret: secret))
    }

    @Sendable private static func willApply(_ group: WrittenGroup) async throws -> [RowAmendment] {
        var amendments: [RowAmendment] = []
        for row in group.rows {
            switch row.after?["content"] {
            case "refuse": throw RowFault("refused", "The app does not want this.", columns: ["content"])
            case "amend": amendments.append(RowAmendment(row.key, ["content": "amended"]))
            case "fail": throw Trouble()
            case "hang": for await _ in AsyncStream<Void>.makeStream().stream {}
            default: break
            }
        }
        return amendments
    }
}
