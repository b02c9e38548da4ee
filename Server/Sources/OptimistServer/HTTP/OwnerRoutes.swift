// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
@_spi(Internals) import OptimistWire

extension Routes {
    func addOwnerRoutes(to users: RouterGroup<SignedInContext>) {
        users.get("/auth/sessions") { _, context in
            let identity = context.identity
            let sessions = try await accounts.sessions(of: identity.account, asking: identity.session)
            return Response(body: JSON.object(["sessions": .array(sessions)]).bytes)
        }
        users.delete("/auth/sessions/:id") { request, context in
            let identity = context.identity
            let isThere = try await accounts.revoke(
                account: identity.account, session: try context.parameters.require("id"),
                by: caller(request, context.server))
            guard isThere else {
                throw RequestProblem(
                    type: "about:blank", status: 404, detail: "The account does not have this session.")
            }
            return Response(body: Self.done)
        }
        users.post("/auth/password") { request, context in
            let identity = context.identity
            let body = try await json(request, context.server)
            try await accounts.changePassword(
                identity, from: try body.text("password"), to: try body.text("newPassword"),
                caller(request, context.server))
            return Response(body: Self.done)
        }
        users.get("/account/deletion") { _, context in
            Response(body: try await accounts.deletionForecast(of: context.identity.account).bytes)
        }
        users.post("/auth/delete-account") { request, context in
            let identity = context.identity
            let body = try await json(request, context.server)
            switch try Accounts.Confirmation(json: body) {
            case .identity(let proof):
                try await accounts.deleteAccount(identity, proof, caller(request, context.server))
            case .password(let password):
                try await accounts.deleteAccount(identity, password: password, caller(request, context.server))
            }
            return Response(body: Self.done)
        }
    }

    /// The user has forgotten the password, so these routes do not require a token.
    func addResetRoutes(to router: Router<ServerContext>) {
        router.post("/auth/forgot-password") { request, context in
            let body = try await json(request, context)
            try await accounts.forget(try body.text("email"), from: caller(request, context))
            return Response(.accepted, body: Self.done)
        }
        router.post("/auth/reset-password") { request, context in
            let body = try await json(request, context)
            try await accounts.reset(
                try body.text("token"), to: try body.text("newPassword"), from: caller(request, context))
            return Response(body: Self.done)
        }
    }

    private static let done = Array("{}".utf8)
}

extension JSON {
    func text(_ name: String) throws(AuthRefusal) -> String {
        guard let text = self[name]?.string, text.utf8.count <= 4096 else {
            throw .invalidRequest("\"\(name)\" is missing.")
        }
        return text
    }
}
