// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
@_spi(Internals) import OptimistWire

extension Routes {
    static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

    func addIdentityRoutes(to users: RouterGroup<SignedInContext>) {
        users.get("/auth/identities") { _, context in
            Response(body: try await accounts.identities(of: context.identity.account).bytes)
        }
        users.post("/auth/identities") { request, context in
            let body = try await json(request, context.server)
            guard let proof = try Accounts.IdentityProof(json: body) else {
                throw AuthRefusal.invalidRequest("\"identityToken\" is missing.")
            }
            guard let confirmation = body["confirmation"] else {
                throw AuthRefusal.invalidRequest("\"confirmation\" is missing.")
            }
            let linked = try await accounts.link(
                context.identity, proof, try Accounts.Confirmation(json: confirmation), caller(request, context.server))
            return Response(.created, body: linked.bytes)
        }
        users.post("/auth/identities/:id/remove") { request, context in
            let confirmation = try Accounts.Confirmation(json: await json(request, context.server))
            let isThere = try await accounts.unlink(
                context.identity, try context.parameters.require("id"), confirmation,
                caller(request, context.server))
            guard isThere else {
                throw RequestProblem(
                    type: "about:blank", status: 404, detail: "The account does not have this identity.")
            }
            return Response(body: Array("{}".utf8))
        }
    }
}

extension Accounts.Confirmation {
    /// - Throws: ``AuthRefusal`` if there is neither a token nor a password.
    init(json: JSON) throws(AuthRefusal) {
        if let proof = try Accounts.IdentityProof(json: json) {
            self = .identity(proof)
        } else {
            self = .password(try json.text("password"))
        }
    }
}

extension Accounts.IdentityProof {
    /// Nil without a token.
    ///
    /// - Throws: ``AuthRefusal`` if a member is not a text.
    init?(json: JSON) throws(AuthRefusal) {
        func text(_ name: String) throws(AuthRefusal) -> String? {
            guard let value = json[name], !value.isNull else { return nil }
            guard let text = value.string else { throw .invalidRequest("\"\(name)\" must be a text.") }
            return text
        }
        guard let token = try text("identityToken") else { return nil }
        self.init(token: token, nonce: try text("nonce"))
    }
}
