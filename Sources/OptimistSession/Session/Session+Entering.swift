// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// Signing in, signing up and signing out.
extension Session {
    struct EnteringDevice: Encodable {
        var id: String
        var name: String
    }

    private struct Entry: Encodable {
        var email: String
        var password: String
        var device: EnteringDevice
        var invitation: String?
    }

    func enter(
        by path: String, email: String, password: String, invitation: String? = nil
    ) async throws -> Account {
        try await enter(
            by: path, .json, email: email, refusal: "The server did not accept this e-mail address and password."
        ) { device in
            let entry = Entry(email: email, password: password, device: device, invitation: invitation)
            return Array(try JSONEncoder().encode(entry))
        }
    }

    /// - Parameters:
    ///   - email: The account's address if the server does not name one.
    ///   - sentence: The message of a refusal without a known reason.
    func enter(
        by path: String, _ type: MediaType, email: String, refusal sentence: String,
        body: (EnteringDevice) throws -> [UInt8]
    ) async throws -> Account {
        let epoch = core.reserveEpoch()
        let device = EnteringDevice(id: try await installID().uuidString.lowercased(), name: configuration.deviceName)
        let answer = try await ask(path, type, body(device))
        guard answer.head.status.kind == .successful else { throw refusal(of: answer.head, answer.body, sentence) }
        let origin = Origin(server)?.description ?? ""
        guard
            let credentials = TokenGrant(answer.body)?.credentials(
                email: email, origin: origin, time: serverTime)
        else { throw OptimistError.signInUnreadable }
        // Too late to cancel: the server has signed in this device.
        let isSaved = try await vault.save(credentials, as: Stamp(epoch: epoch, generation: 1))
        run(core.handle(.signedIn(epoch: epoch, credentials)))
        guard isSaved, core.stamp.epoch == epoch else {
            run([.revoke(credentials)])
            throw OptimistError.signInSuperseded
        }
        return credentials.account
    }

    func leave() async throws {
        let (epoch, errands) = core.signOut()
        run(errands)
        try await vault.signOut(upTo: epoch)
    }

    enum MediaType: String {
        case json = "application/json"
        case form = "application/x-www-form-urlencoded"
    }

    /// Posts once to an endpoint that does not need an access token.
    func ask(_ path: String, _ type: MediaType, _ body: [UInt8]) async throws -> (head: HTTPResponse, body: [UInt8]) {
        try await ask(
            SessionRequest(
                path, method: .post, headerFields: [.contentType: type.rawValue, .accept: MediaType.json.rawValue],
                body: body))
    }

    /// Sends a request once, without an access token, to an endpoint that is open to everyone.
    package func sendWithoutToken(_ request: SessionRequest) async throws -> SessionResponse {
        let answer = try await ask(request)
        return SessionResponse(head: answer.head, body: answer.body)
    }

    /// Sends a request once, without an access token.
    func ask(_ asked: SessionRequest) async throws -> (head: HTTPResponse, body: [UInt8]) {
        let timeout = Duration.seconds(30)
        let head = try address.head(asked.method, asked.target, asked.allFields)
        let request = TransportRequest(head: head, body: asked.body, headTimeout: timeout)
        let transport = transport
        return try await withDeadline(timeout, clock: dependencies.clock) {
            let answer = try await transport.send(request)
            self.serverTime.hear(answer.head)
            return (answer.head, try await answer.body.collect(upTo: 1 << 20))
        }
    }

    private func refusal(of head: HTTPResponse, _ body: [UInt8], _ sentence: String) -> OptimistError {
        switch head.status.code {
        case 400, 401, 403, 404, 409, 422:
            .refusal(head, body, else: .signInRefused, sentence)
        default:
            OptimistError(
                .signInFailed, Self.sentence(head),
                remedy: .retry(after: head.retryAfter(now: serverTime.now) ?? .seconds(5)))
        }
    }
}

extension OptimistError {
    static let foreignCredentials = OptimistError(
        .foreignOrigin, "The tokens belong to a different server than the session.")

    fileprivate static let signInUnreadable = OptimistError(
        .signInFailed, "The answer is not from the server, or uses another protocol version.",
        remedy: .retry(after: .seconds(30)))

    static let signInSuperseded = OptimistError(
        .signInSuperseded, "Another sign-in or a sign-out finished first.")
}
