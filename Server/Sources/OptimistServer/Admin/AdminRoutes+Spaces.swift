// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import OptimistLoopback
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// The spaces, with their members by id and their audit. Names, labels and links are not shown.
extension AdminRoutes {
    private static let eventsOfPage = 100

    func addSpaces(to api: RouterGroup<LocalRequestContext>) {
        api.get("/spaces") { request, _ in Response(body: try await spaces(request).bytes) }
        api.get("/spaces/:space") { request, context in
            Response(body: try await space(context.parameters.require("space"), request).bytes)
        }
    }

    private func spaces(_ request: Request) async throws -> JSON {
        let limit = try Self.limit(request)
        // Only the accounts of spaces begin with this letter.
        let after = request.uri.queryParameters["after"].map { String($0) } ?? "s"
        let found = try await storage.rows.accounts(after: max(after, "s"), limit: limit + 1).filter {
            SpaceAccount.space(of: $0) != nil
        }
        var page: [JSON] = []
        for account in found.prefix(limit) {
            if let summary = try await self.summary(of: account) { page.append(.object(summary)) }
        }
        return [
            "spaces": .array(page),
            "next": found.count > limit ? found.prefix(limit).last.map(JSON.string) ?? .null : .null,
        ]
    }

    private func summary(of account: String) async throws -> JSONObject? {
        do {
            return summary(try await accounts.spaces.summary(of: account))
        } catch StoreError.noAccount { return nil }
    }

    private func summary(_ found: SpaceCare.Summary) -> JSONObject {
        [
            "space": SpaceAccount.space(of: found.account).map(JSON.string) ?? .null,
            "account": .string(found.account), "kind": .string(found.kind.rawValue),
            "members": .int(Int64(found.members.count)), "rows": .int(Int64(found.rows)),
            "maxRows": .int(Int64(spaceRows)), "seq": .int(found.seq),
        ]
    }

    private func space(_ id: String, _ request: Request) async throws -> JSON {
        let account = SpaceAccount.id(ofSpace: id) ?? id
        let before = request.uri.queryParameters["before"].map { String($0) }
        let place = before.flatMap { LogPosition(adminText: $0) }
        guard before == nil || place != nil else {
            throw RequestProblem(
                type: "about:blank", status: 400,
                detail: "\"before\" must be the value of \"next\" in an earlier page.")
        }
        let events = try await accounts.store.events(of: account, before: place, limit: Self.eventsOfPage + 1)
        let page = events.prefix(Self.eventsOfPage)
        var shown: JSONObject
        do {
            let found = try await accounts.spaces.summary(of: account)
            shown = summary(found)
            shown["people"] = .array(
                found.members.map { member in
                    [
                        "person": .string(member.person), "role": .string(member.role.rawValue),
                        "joinedSeq": .int(member.joinedSeq),
                    ]
                })
        } catch StoreError.noAccount {
            throw RequestProblem(type: "about:blank", status: 404, detail: "The space does not exist.")
        }
        shown["events"] = .array(page.map { .object($0.json) })
        shown["next"] = events.count > page.count ? page.last.map { .string($0.place.adminText) } ?? .null : .null
        return .object(shown)
    }
}

extension LogPosition {
    var adminText: String { "\(seq).\(ordinal)" }
}
