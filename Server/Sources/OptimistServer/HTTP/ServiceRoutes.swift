// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// `/service/accounts`, for programs with a service key. A key finds only the accounts that it allows. Accounts are
/// changed by keys that may write rows of all types.
extension Routes {
    private static let pageSize = 100
    private static let maxPageSize = 1_000

    func addServiceRoutes(to services: RouterGroup<ServiceContext>) {
        services.get("/service/accounts") { request, context in
            Response(body: try await accounts(request, for: context.key.reader).bytes)
        }
        services.post("/service/accounts") { request, context in
            try Self.checkMayChange(context.key)
            guard context.key.accounts == nil else {
                throw Self.forbidden("The key allows only the accounts that it names, so it creates none.")
            }
            guard let email = try await json(request, context.server)["email"]?.string else {
                throw AuthRefusal.invalidRequest("\"email\" is missing.")
            }
            let made = try await accounts.create(email: email, by: context.key, caller(request, context.server))
            return Response(.created, body: made.json.bytes)
        }
        for (name, isDisabled) in [("disable", true), ("enable", false)] {
            services.post("/service/accounts/:id/\(name)") { request, context in
                let id = try changeable(context)
                let caller = caller(request, context.server)
                guard let account = try await accounts.setDisabled(isDisabled, id, by: context.key, caller) else {
                    throw Self.noAccount
                }
                return Response(body: account.json.bytes)
            }
        }
        services.delete("/service/accounts/:id") { request, context in
            let id = try changeable(context)
            guard try await accounts.store.account(id: id) != nil,
                try await accounts.delete(id, if: nil, caller(request, context.server), by: context.key)
            else { throw Self.noAccount }
            return Response(body: Array("{}".utf8))
        }
    }

    // MARK: - Finding

    private func accounts(_ request: Hummingbird.Request, for reader: ServiceReader) async throws -> JSON {
        let query = request.uri.queryParameters
        let (id, email) = (query["id"].map { String($0) }, query["email"].map { String($0) })
        if let id { return Self.page([try await accounts.store.account(id: id)], for: reader) }
        if let email {
            guard let address = EmailAddress(email) else { return Self.page([], for: reader) }
            return Self.page([try await accounts.store.account(email: address.text)], for: reader)
        }
        let (issuer, subject) = (query["issuer"].map { String($0) }, query["subject"].map { String($0) })
        if issuer != nil || subject != nil {
            guard let issuer, let subject else {
                throw RequestProblem(
                    type: "about:blank", status: 400, detail: "\"issuer\" and \"subject\" are used together.")
            }
            let identity = ProviderIdentity(issuer: issuer, subject: subject)
            return Self.page([try await accounts.store.account(of: identity)], for: reader)
        }
        guard let limit = query["limit"].map({ Int($0) }) ?? Self.pageSize, (1...Self.maxPageSize).contains(limit)
        else {
            throw RequestProblem(
                type: "about:blank", status: 400, detail: "\"limit\" must be a number from 1 to \(Self.maxPageSize).")
        }
        let after = query["after"].map { String($0) }
        let found =
            if let named = reader.accounts {
                try await accounts(named, after: after, limit: limit + 1)
            } else {
                try await accounts.store.accounts(startingWith: "", after: after, limit: limit + 1)
            }
        let next = found.count > limit ? found.prefix(limit).last?.email : nil
        return Self.page(found.prefix(limit).map { $0 }, next: next, for: reader)
    }

    /// A page of the accounts that a key names. It does not read other accounts, so `next` cannot show their addresses.
    private func accounts(_ named: Set<String>, after email: String?, limit: Int) async throws -> [StoredAccount] {
        var found: [StoredAccount] = []
        for id in named {
            if let account = try await accounts.store.account(id: id), account.email > email ?? "" {
                found.append(account)
            }
        }
        return Array(found.sorted { $0.email < $1.email }.prefix(limit))
    }

    private static func page(_ found: [StoredAccount?], next: String? = nil, for reader: ServiceReader) -> JSON {
        let allowed = found.compactMap(\.self).filter { reader.mayOpen($0.id) }
        return ["accounts": .array(allowed.map(\.json)), "next": next.map(JSON.string) ?? .null]
    }

    // MARK: - Changing

    private func changeable(_ context: ServiceContext) throws -> String {
        try Self.checkMayChange(context.key)
        let id = try context.parameters.require("id")
        // The answer for an account that the key does not allow is that for a missing account.
        guard context.key.reader.mayOpen(id) else { throw Self.noAccount }
        return id
    }

    private static func checkMayChange(_ key: ServiceKey) throws {
        guard key.scope == .write, key.types == nil else {
            throw forbidden("Only a key that may write rows of all types may change accounts.")
        }
    }

    private static func forbidden(_ why: String) -> RequestProblem {
        RequestProblem(type: "about:blank", status: 403, detail: why)
    }

    private static var noAccount: RequestProblem {
        RequestProblem(
            type: "about:blank", status: 404, detail: "The account does not exist, or the key does not allow it.")
    }
}

extension StoredAccount {
    fileprivate var json: JSON {
        ["id": .string(id), "email": email.isPlaceholder ? .null : .string(email), "isDisabled": .bool(isDisabled)]
    }
}
