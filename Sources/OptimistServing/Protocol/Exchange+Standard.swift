// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Serves clients that know only the RFC. Their requests do not name the capability.
///
/// They see rows without the members that begin with "@", and the server ignores such members in their requests: a
/// client may send back a complete row that it got from elsewhere, and its write is still a new one.
extension Exchange {
    var knowsRowSync: Bool { request.using.contains(RowSync.capability) }

    func understood(_ arguments: JSONObject) -> JSONObject {
        // A program's writes have the server's clocks.
        let isService = if case .service = reader { true } else { false }
        if knowsRowSync, !isService { return arguments }
        var arguments = arguments
        arguments["destroyClocks"] = nil
        for member in ["create", "update"] {
            guard let rows = arguments[member]?.object else { continue }
            arguments[member] = .object(JSONObject(rows.map { ($0.key, $0.value.withoutMarks) }))
        }
        return arguments
    }

    func readable(_ answer: JSONObject) -> JSONObject {
        if knowsRowSync { return answer }
        return JSONObject(
            answer.map { member, value in
                guard let rows = value.object else { return (member, value) }
                switch member {
                case "created": return (member, .object(JSONObject(rows.map { ($0.key, $0.value.withoutMarks) })))
                case "updated":
                    let seen = rows.map { id, row in
                        let row = row.withoutMarks
                        return (id, row.object?.isEmpty == true ? .null : row)
                    }
                    return (member, .object(JSONObject(seen)))
                case "notCreated", "notUpdated", "notDestroyed":
                    return (member, .object(JSONObject(rows.map { ($0.key, $0.value.withoutRows) })))
                default: return (member, value)
                }
            })
    }

    /// Refuses arguments that belong to the capability, because ignoring them would change the meaning of the request.
    func checkIsStandard(_ arguments: JSONObject, _ names: [String]) throws(MethodError) {
        if knowsRowSync { return }
        guard let name = names.first(where: { arguments[$0].map { !$0.isNull && $0 != false } ?? false }) else {
            return
        }
        throw .invalidArguments("\"\(name)\" belongs to \(RowSync.capability), which \"using\" does not include.")
    }
}

extension JSONObject {
    var withoutMarks: JSONObject { JSONObject(members.filter { !$0.key.hasPrefix("@") }) }
}

extension JSON {
    fileprivate var withoutMarks: JSON { object.map { .object($0.withoutMarks) } ?? self }

    /// The error without the members that only a device can use: the server's row, and its deletion.
    fileprivate var withoutRows: JSON {
        object.map { .object(JSONObject($0.members.filter { $0.key != "current" && $0.key != "deletion" })) } ?? self
    }
}
