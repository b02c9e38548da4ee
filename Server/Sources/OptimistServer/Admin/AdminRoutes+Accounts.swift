// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
import OptimistLoopback
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension AdminRoutes {
    private static let pageSize = 50
    private static let maxPageSize = 200
    private static let maxPageBytes = 2_000_000
    private static let maxBodyBytes = 1_024

    func addAccounts(to api: RouterGroup<LocalRequestContext>) {
        api.get("/accounts") { request, _ in Response(body: try await list(request).bytes) }
        api.get("/accounts/:account") { _, context in
            Response(body: try await account(context.parameters.require("account")).bytes)
        }
        api.get("/accounts/:account/rows") { request, context in
            Response(body: try await rows(context.parameters.require("account"), request).bytes)
        }
        api.post("/accounts/:account/sessions/:session/end") { request, context in
            try await end(
                session: context.parameters.require("session"), of: context.parameters.require("account"), request)
        }
    }

    private func list(_ request: Request) async throws -> JSON {
        let query = request.uri.queryParameters
        let limit = try Self.limit(request)
        let found = try await accounts.store.accounts(
            startingWith: query["prefix"].map { String($0) } ?? "", after: query["after"].map { String($0) },
            limit: limit + 1)
        let page = found.prefix(limit)
        return [
            "accounts": .array(page.map { ["id": .string($0.id), "email": .string($0.email)] }),
            "next": found.count > limit ? page.last.map { .string($0.email) } ?? .null : .null,
        ]
    }

    private func account(_ id: String) async throws -> JSON {
        guard let account = try await accounts.store.account(id: id) else { throw Self.noAccount }
        let types = schema.types.keys.sorted()
        let (seq, floor, counts) = try await storage.rows.read(account: id, as: .operator) { snapshot in
            (snapshot.seq, snapshot.floor, try types.map { try snapshot.livingCount(type: $0) })
        }
        let listening = pokes.sessions
        let sessions = try await accounts.sessions(of: id, asking: nil).map { session in
            var members: JSONObject = [:]
            for (name, value) in session.object?.members ?? [] where name != "isCurrent" { members.append(name, value) }
            members.append("isListening", .bool(session["id"]?.string.map { listening[$0] != nil } ?? false))
            return JSON.object(members)
        }
        return [
            "id": .string(account.id), "email": .string(account.email), "seq": .int(seq), "floor": .int(floor),
            "types": .array(zip(types, counts).map { ["name": .string($0), "rows": .int(Int64($1))] }),
            "sessions": .array(sessions),
        ]
    }

    /// Returns one row, or rows in the order of their last change, oldest first. Deleted rows are included.
    private func rows(_ account: String, _ request: Request) async throws -> JSON {
        let query = request.uri.queryParameters
        guard let type = query["type"].map({ String($0) }), schema.types[type] != nil else {
            throw RequestProblem(
                type: "about:blank", status: 400,
                detail: "\"type\" must be one of \(schema.types.keys.sorted().joined(separator: ", ")).")
        }
        let limit = try Self.limit(request)
        if let id = query["id"].map({ String($0) }) {
            let stored = try await read(account) { try $0.rows(type: type, ids: [id])[id] }
            let row = stored.map { AdminRow(id: id, $0) }
            return ["rows": .array(row.map { [$0.json] } ?? []), "next": .null]
        }
        let start = query["after"].map { String($0) }
        guard let place = LogPosition(adminText: start ?? "0.0") else {
            throw RequestProblem(
                type: "about:blank", status: 400, detail: "\"after\" must be the value of \"next\" in an earlier page.")
        }
        let page = try await read(account) {
            try $0.changes(type: type, from: place, limit: limit, maxBytes: Self.maxPageBytes)
        }
        return [
            "rows": .array(page.rows.map { AdminRow($0).json }),
            "next": page.next.map { .string($0.adminText) } ?? .null,
        ]
    }

    private func read<Value: Sendable>(
        _ account: String, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Value
    ) async throws -> Value {
        do {
            return try await storage.rows.read(account: account, as: .operator, work)
        } catch StoreError.noAccount { throw Self.noAccount }
    }

    /// A page of another site cannot send this content type without the server's consent.
    private func end(session: String, of account: String, _ request: Request) async throws -> Response {
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            throw RequestProblem(type: "about:blank", status: 415, detail: "Send {} as application/json.")
        }
        _ = try await request.body.collect(upTo: Self.maxBodyBytes)
        guard try await accounts.revoke(account: account, session: session) else {
            throw RequestProblem(type: "about:blank", status: 404, detail: "The account does not have this session.")
        }
        return Response(body: Array("{}".utf8))
    }

    private static let noAccount = RequestProblem(
        type: "about:blank", status: 404, detail: "The account does not exist.")

    static func limit(_ request: Request) throws(RequestProblem) -> Int {
        guard let text = request.uri.queryParameters["limit"] else { return pageSize }
        guard let limit = Int(text), (1...maxPageSize).contains(limit) else {
            throw RequestProblem(
                type: "about:blank", status: 400, detail: "\"limit\" must be a number from 1 to \(maxPageSize).")
        }
        return limit
    }
}

extension LogPosition {
    init?(adminText text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let seq = Int64(parts[0]), let ordinal = Int(parts[1]), seq >= 0, ordinal >= 0 else {
            return nil
        }
        self.init(seq: seq, ordinal: ordinal)
    }
}
