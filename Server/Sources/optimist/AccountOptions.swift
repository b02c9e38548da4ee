// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import OptimistCore
import OptimistPostgres
import OptimistServer
import OptimistWire

/// Which server an order of `optimist account` is for, and how it gets there.
struct AccountOptions: ParsableArguments {
    @OptionGroup var options: PlaceOptions

    @OptionGroup var shared: DatabaseOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// Carries out an order, and prints what came of it.
    ///
    /// - Parameter lines: What a person reads.
    func carryOut(_ order: AccountOrder, lines: (JSON) -> [String]) async throws {
        switch try options.place {
        case .database(let url):
            let database = shared.database(url)
            try await explainingErrors(of: "account", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.account"))
                show(try await opening.carryOut(order, shared.readSecret()), lines)
            }
        case .directory(let directory): try await carryOut(order, in: directory, lines: lines)
        }
    }

    private func carryOut(_ order: AccountOrder, in directory: URL, lines: (JSON) -> [String]) async throws {
        try await explainingErrors(of: "account", at: directory.path) {
            let answer: JSON
            do {
                answer = try await AccountOffice.carryOut(order, in: directory)
            } catch let error as OptimistError where error.code == .dataInUse {
                answer = try await Self.ask(AccountOffice.socket(in: directory), order)
            }
            show(answer, lines)
        }
    }

    private func show(_ answer: JSON, _ lines: (JSON) -> [String]) {
        for line in json ? [answer.description] : lines(answer) { say(line) }
    }

    /// Gives the order to the server that has the directory.
    private static func ask(_ socket: URL, _ order: AccountOrder) async throws -> JSON {
        let path = socket.absoluteURL.path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        var request = HTTPClientRequest(url: "http+unix://\(path)/orders")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(order)))
        let response: HTTPClientResponse
        let body: ByteBuffer
        do {
            response = try await HTTPClient.shared.execute(request, timeout: .seconds(300))
            body = try await response.body.collect(upTo: 64 << 20)
        } catch {
            throw OptimistError(
                .dataInUse,
                """
                A server is running on the data, and does not answer at \(socket.path). Run this as the user that the \
                server runs as, or stop the server first.
                """, cause: error)
        }
        let answer = try JSON(parsing: body.readableBytesView)
        guard response.status == .ok else {
            throw OptimistError(.notFound, answer["error"]?.string ?? "The server does not know this order.")
        }
        return answer
    }
}
