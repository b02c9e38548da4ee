// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

@testable import OptimistServer

/// A request of a route by some method, with the ids of a space wherever a route might read them.
struct RouteAttempt: Sendable {
    var method: String
    /// Whether the route answers requests without a token.
    var isPublic: Bool
    var path: @Sendable (AttackedSpace) -> String
    /// The id of a session of the space's owner.
    var session: String

    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// Paths that the server does not have for its users, or not at all.
    private static let others: [@Sendable (AttackedSpace) -> String] = [
        { _ in "/admin" }, { "/admin/api/accounts/\($0.account)" },
        { "/admin/api/accounts/\($0.account)/rows?type=List" }, { "/admin/api/spaces/\($0.space)" },
        { _ in "/admin/api/spaces" }, { _ in "/metrics" }, { _ in "/orders" }, { "/spaces/\($0.space)" },
        { "/spaces/\($0.space)/members" }, { "/spaces/\($0.space)/export" }, { "/accounts/\($0.account)/rows" },
        { "/jmap/upload/\($0.account)/" }, { "/jmap/download/\($0.account)/x/x" }, { "/jmap/\($0.account)" },
        { "/jmap/../admin/api/accounts/\($0.account)" }, { "/jmap/session?account=\($0.account)" },
        { "/jmap/eventsource?types=*&closeafter=state&ping=0&accounts=\($0.account)" },
        { "/places?q=\($0.account)" },
    ]

    static func all(in scene: AttackScene) -> [RouteAttempt] {
        let session = scene.session
        let known = OpenAPI.operations.map { operation in
            (operation.path.replacing("{id}", with: session), operation.isPublic)
        }
        let paths: [(path: @Sendable (AttackedSpace) -> String, isPublic: Bool)] =
            known.filter { $0.0 != "/jmap/eventsource" }.map { path, isPublic in ({ _ in path }, isPublic) }
            + others.map { ($0, false) }
        return methods.flatMap { method in
            paths.compactMap { path, isPublic in
                let text = path(.home)
                // A stream without a body does not end, and a sign-up makes an account.
                if text.hasPrefix("/jmap/eventsource"), method == "HEAD" { return nil }
                if text == "/auth/sign-up", method == "POST" { return nil }
                return RouteAttempt(method: method, isPublic: isPublic, path: path, session: session)
            }
        }
    }

    /// The members that some route reads.
    func body(_ space: AttackedSpace) -> JSON {
        [
            "space": .string(space.space), "secret": .string(Ticket.hash.text), "accountId": .string(space.account),
            "id": .string(session), "email": "nobody@example.org", "password": "not the password",
            "newPassword": "another password", "token": "x", "device": ["id": "d", "name": "d"],
            "using": [.string(RowSync.core), .string(RowSync.capability)],
            "methodCalls": [["List/get", ["accountId": .string(space.account), "ids": .null], "0"]],
        ]
    }
}
