// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistWire

/// > Source: RFC 6749 §5 and §6, RFC 7009, RFC 8414.
extension Routes {
    func addAccountRoutes(to router: Router<ServerContext>) {
        router.get("/.well-known/oauth-authorization-server") { request, _ in
            Response(body: metadata(origin: origin(of: request)).bytes)
        }
        router.post("/auth/sign-up") { request, context in
            let entry = try await entry(request, context)
            return Response(.created, body: try await accounts.signUp(entry, from: caller(request, context)).bytes)
        }
        router.post("/auth/sign-in") { request, context in
            let entry = try await entry(request, context)
            return Response(body: try await accounts.signIn(entry, from: caller(request, context)).bytes)
        }
        router.post("/auth/token") { request, context in
            let form = try await form(request, context)
            if form["grant_type"] == Self.tokenExchange {
                let entry = try Accounts.IdentityEntry(form: form)
                return Response(body: try await accounts.signIn(entry, from: caller(request, context)).bytes)
            }
            guard form["grant_type"] == "refresh_token" else {
                throw AuthRefusal(
                    status: 400, error: "unsupported_grant_type",
                    description: "Only refresh_token and \(Self.tokenExchange) are supported.")
            }
            guard let token = form["refresh_token"] else {
                throw AuthRefusal.invalidRequest("\"refresh_token\" is missing.")
            }
            return Response(body: try await accounts.refresh(token, from: caller(request, context)).bytes)
        }
        router.post("/auth/revoke") { request, context in
            guard let token = try await form(request, context)["token"] else {
                throw AuthRefusal.invalidRequest("\"token\" is missing.")
            }
            try await accounts.revoke(token, from: caller(request, context))
            return Response(body: Array("{}".utf8))
        }
    }

    private static let maxAuthBytes = 16_384

    func caller(_ request: Hummingbird.Request, _ context: ServerContext) -> Caller {
        Caller(
            address: (isBehindProxy ? request.forwardedAddress : nil) ?? context.peerAddress,
            requestID: context.requestID)
    }

    func json(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> JSON {
        let body = try await request.body(upTo: Self.maxAuthBytes, deadline: bodyDeadline, context)
        guard let json = try? JSON(parsing: body) else {
            throw AuthRefusal.invalidRequest("The body is not valid JSON.")
        }
        return json
    }

    private func entry(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> Accounts.Entry {
        try Accounts.Entry(json: await json(request, context))
    }

    private func form(_ request: Hummingbird.Request, _ context: ServerContext) async throws -> [String: String] {
        let body = try await request.body(upTo: Self.maxAuthBytes, deadline: bodyDeadline, context)
        guard let text = String(validating: body, as: UTF8.self) else {
            throw AuthRefusal.invalidRequest("The body is not a valid form.")
        }
        var fields: [String: String] = [:]
        for field in text.split(separator: "&") {
            let sides = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let name = decoded(sides[0]), let value = decoded(sides[1]) else {
                throw AuthRefusal.invalidRequest("The body is not a valid form.")
            }
            guard fields.updateValue(value, forKey: name) == nil else {
                throw AuthRefusal.invalidRequest("A field occurs twice.")
            }
        }
        return fields
    }

    private func decoded(_ text: Substring) -> String? { text.replacing("+", with: " ").removingPercentEncoding }

    private func metadata(origin: String) -> JSON {
        let mode = accounts.settings.signIn
        let grants: [JSON] =
            mode.allowsIdentities ? ["refresh_token", .string(Self.tokenExchange)] : ["refresh_token"]
        return [
            "issuer": .string(origin), "token_endpoint": .string(origin + "/auth/token"),
            "revocation_endpoint": .string(origin + "/auth/revoke"), "grant_types_supported": .array(grants),
            "response_types_supported": [], "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            // An extension: whether apps should offer to sign up.
            "optimist_sign_up": .string(accounts.settings.signUp.rawValue),
            // How people sign in, and the issuers whose identity tokens are accepted.
            "optimist_sign_in": .string(mode.rawValue),
            "optimist_identity_issuers": .array(accounts.providers.issuers.map(JSON.string)),
        ]
    }
}
