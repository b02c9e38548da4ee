// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import NIOHTTP1
import OptimistCore
import OptimistPostgres
import OptimistServer
import OptimistWire

struct AccountOptions: ParsableArguments {
    @OptionGroup var options: PlaceOptions

    @OptionGroup var shared: DatabaseOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// - Parameter lines: Formats the result for people. Not used with `--json`.
    func carryOut(_ order: AccountOrder, lines: (JSON) -> [String]) async throws {
        let orders = OperatorOrders(place: try options.place, shared: shared, command: order.command)
        try await orders.carryOut(order) { answer in
            for line in json ? [answer.description] : lines(answer) { say(line.shown()) }
        }
    }
}

extension AccountOrder {
    /// The command that gives the order.
    fileprivate var command: String {
        switch self {
        case .space: "space"
        case .key: "key"
        case .webhook: "webhook"
        default: "account"
        }
    }
}

/// Executes an operator's order in a database or a data directory, or through a running server's socket.
struct OperatorOrders {
    var place: PlaceOptions.Place
    var shared: DatabaseOptions
    var command: String

    func carryOut(_ order: AccountOrder, show: (JSON) -> Void) async throws {
        switch place {
        case .database(let url):
            let database = shared.database(url)
            try await explainingErrors(of: command, at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.\(command)"))
                show(try await opening.carryOut(order, shared.readSecret()))
            }
        case .directory(let directory):
            try await explainingErrors(of: command, at: directory.path) {
                do {
                    show(try await AccountOffice.carryOut(order, at: directory))
                } catch let error as OptimistError where error.code == .dataInUse {
                    show(try await Self.ask(AccountOffice.socket(at: directory), order))
                }
            }
        }
    }

    /// Sends the order to the server that has locked the directory.
    private static func ask(_ socket: URL, _ order: AccountOrder) async throws -> JSON {
        let (status, body) = try await ControlRequest.post("orders", JSONEncoder().encode(order), to: socket)
        let answer = try JSON(parsing: body)
        guard status == .ok else {
            throw OptimistError(.notFound, answer["error"]?.string ?? "The server does not know this command.")
        }
        return answer
    }
}
