// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
@_spi(Internals) public import OptimistServing
import OptimistWire

extension GroupHook {
    /// A hook that asks an HTTP endpoint of your backend, signed as for a ``Webhook``.
    ///
    /// The request is a JSON object with `type` `willApply` and `data`: `account`, `space`, `device`, `writer`, `role`
    /// and `rows`, each with `type`, `id`, `before`, `after` and `changed`. The answer has status 200 and a JSON object:
    /// empty, or with `amend`, a list of objects with `type`, `id` and `values`, or with `refuse`, an object with
    /// `code`, `message` and optionally `columns`. Any other answer postpones the group, like an error of a hook in
    /// Swift. Redirects are not followed. The server's log names the address, without its query, and the failure.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`, without a user.
    ///   - secrets: One or two. Each call has a signature by each of them.
    ///   - deadline: How long all calls of one request may take together. Default: 2 seconds.
    /// - Throws: `OptimistError` with code `badWebhook`.
    public static func calling(
        _ url: URL, secrets: [WebhookSecret], deadline: Duration = .seconds(2)
    ) throws -> GroupHook {
        guard url.canBeCalled, (1...2).contains(secrets.count), deadline > .zero else {
            throw OptimistError(
                .badWebhook,
                "A hook needs an http or https URL without a user, one or two secrets, and a positive deadline.")
        }
        let call = SignedCall(url: url, secrets: secrets, dependencies: Dependencies())
        var hook = GroupHook(deadline: deadline) { group in
            let answer = try await call.post(
                group.message.bytes, id: "will_\(UUID().uuidString.lowercased())", within: nil)
            switch answer.status {
            case 200: return try HookAnswer.amendments(in: answer.body)
            case 300..<400: throw DeliverySchedule.Failure.redirected
            default: throw DeliverySchedule.Failure.status(answer.status)
            }
        }
        hook.address = url.shownAddress
        return hook
    }
}

/// Reads the answer of a hook's endpoint.
enum HookAnswer {
    /// The answer is not as `GroupHook.calling` documents it.
    struct Malformed: Error {}

    /// - Throws: `RowFault` if the endpoint refuses the group, or ``Malformed``.
    static func amendments(in body: [UInt8]) throws -> [RowAmendment] {
        guard let answer = try? JSON(parsing: body).object,
            answer.members.allSatisfy({ ["amend", "refuse"].contains($0.key) })
        else { throw Malformed() }
        if let refusal = answer["refuse"] {
            guard let code = refusal["code"]?.string, let message = refusal["message"]?.string,
                let columns = try texts(refusal["columns"] ?? [])
            else { throw Malformed() }
            throw RowFault(code, message, columns: columns)
        }
        guard let list = answer["amend"] else { return [] }
        guard let rows = list.array else { throw Malformed() }
        return try rows.map { row in
            guard let type = row["type"]?.string, let id = row["id"]?.string, let values = row["values"]?.object else {
                throw Malformed()
            }
            return RowAmendment(
                RowKey(type, id), Dictionary(values.members.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }))
        }
    }

    private static func texts(_ json: JSON) throws -> [String]? {
        try json.array?.map { text in
            guard let text = text.string else { throw Malformed() }
            return text
        }
    }
}

extension WrittenGroup {
    fileprivate var message: JSON {
        func object(_ values: JSONObject?) -> JSON { values.map(JSON.object) ?? .null }
        return [
            "type": "willApply",
            "data": [
                "account": .string(account), "space": space.map(JSON.string) ?? .null,
                "device": device.map(JSON.string) ?? .null, "writer": writer.json,
                "role": role.map(JSON.string) ?? .null,
                "rows": .array(
                    rows.map { row in
                        [
                            "type": .string(row.key.type), "id": .string(row.key.id), "before": object(row.before),
                            "after": object(row.after), "changed": .array(row.changed.sorted().map(JSON.string)),
                        ]
                    }),
            ],
        ]
    }
}
