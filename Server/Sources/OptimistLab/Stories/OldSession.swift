// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
import OptimistWire

/// The requests of the app in the third story. Each request with an expired token refreshes the token for itself and is
/// sent again, without a limit.
actor OldSession {
    private let server: URL
    private let wire: Wire
    private var access = ""
    private var refresh = ""
    private(set) var isSignedOut = false

    init(server: URL, wire: Wire) { (self.server, self.wire) = (server, wire) }

    var token: String { access }

    func signUp(email: String, password: String) async throws {
        let body = JSON.object([
            "email": .string(email), "password": .string(password),
            "device": ["id": .string(UUID().uuidString.lowercased())],
        ])
        let (status, answer) = try await send(.post, "/auth/sign-up", "application/json", body.bytes)
        guard status == 201 else { throw OptimistError(.oldWayFailed, "The sign-up was refused: \(status).") }
        take(answer)
    }

    func get(_ path: String) async throws {
        // Twenty attempts are enough to show the effect.
        for _ in 0..<20 {
            let (status, _) = try await send(.get, path)
            if status != 401 { return }
            let form = Array("grant_type=refresh_token&refresh_token=\(refresh)".utf8)
            let (answered, answer) = try await send(.post, "/auth/token", "application/x-www-form-urlencoded", form)
            if answered == 200 { take(answer) } else { isSignedOut = true }
            if isSignedOut { return }
        }
    }

    private func take(_ answer: [UInt8]) {
        guard let json = try? JSON(parsing: answer) else { return }
        access = json["access_token"]?.string ?? access
        refresh = json["refresh_token"]?.string ?? refresh
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ type: String? = nil, _ body: [UInt8] = []
    ) async throws -> (Int, [UInt8]) {
        var head = HTTPRequest(
            method: method, scheme: server.scheme, authority: "127.0.0.1:\(server.port ?? 80)", path: path)
        head.headerFields[.contentType] = type
        if !access.isEmpty { head.headerFields[.authorization] = "Bearer \(access)" }
        let answer = try await wire.send(TransportRequest(head: head, body: body))
        return (answer.head.status.code, try await answer.body.collect(upTo: 1 << 20))
    }
}
