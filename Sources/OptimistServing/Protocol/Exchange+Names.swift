// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Translates between current names and those in the client's version of the schema. Most clients use the current names
/// and need no translation.
extension Exchange {
    func presentNames(_ arguments: JSONObject, of type: String) -> JSONObject {
        guard vocabulary.renamesColumns(of: type) else { return arguments }
        var arguments = arguments
        for member in ["create", "update", "destroyClocks"] {
            guard let rows = arguments[member]?.object else { continue }
            arguments[member] = .object(
                JSONObject(
                    rows.map { id, row in (id, row.object.map { .object(vocabulary.present($0, of: type)) } ?? row) }))
        }
        return arguments
    }

    func clientNames(_ answer: JSONObject, of type: String) -> JSONObject {
        if vocabulary.isPresent { return answer }
        return JSONObject(
            answer.map { member, value in
                guard let rows = value.object else { return (member, value) }
                switch member {
                case "created", "updated": return (member, .object(renaming(rows) { vocabulary.former($0, of: type) }))
                case "notCreated", "notUpdated", "notDestroyed":
                    return (member, .object(renaming(rows) { clientNames(ofError: $0, type) }))
                default: return (member, value)
                }
            })
    }

    private func renaming(_ rows: JSONObject, _ rename: (JSONObject) -> JSONObject) -> JSONObject {
        JSONObject(rows.map { id, row in (id, row.object.map { .object(rename($0)) } ?? row) })
    }

    private func clientNames(ofError error: JSONObject, _ type: String) -> JSONObject {
        JSONObject(
            error.map { member, value in
                switch (member, value) {
                case ("properties", .array(let columns)):
                    (member, .array(columns.map { $0.renamed { vocabulary.formerColumn($0, of: type) } }))
                case ("by", .array(let rows)): (member, .array(rows.map { $0.renamed(vocabulary.formerRow) }))
                case ("current", .object(let row)): (member, .object(vocabulary.former(row, of: type)))
                default: (member, value)
                }
            })
    }
}

extension JSON {
    fileprivate func renamed(_ rename: (String) -> String) -> JSON { string.map { .string(rename($0)) } ?? self }
}
