// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// `T/get`: rows by id, or all.
extension Exchange {
    func get(_ type: String, _ invocation: Invocation) throws -> MethodAnswer {
        let ids = try texts(invocation.arguments["ids"], "ids")
        let limit = RowSync.Limit.rowsInSet
        if let ids, ids.count > limit { throw MethodError.requestTooLarge("A /get names at most \(limit) rows.") }
        let properties = try properties(of: type, invocation)
        let rows = try snapshot.livingRows(type: type, ids: ids, limit: limit + 1)
        guard rows.count <= limit else {
            throw MethodError.requestTooLarge("There are more than \(limit) rows: use \(type)/changes.")
        }
        guard rows.reduce(0, { $0 + $1.content.count }) <= AnswerLimit.pageBytes else {
            throw MethodError.requestTooLarge("The rows are larger than \(AnswerLimit.pageBytes) bytes: ask for fewer.")
        }
        var seen = Set(rows.map(\.id))
        let missing = (ids ?? []).filter { seen.insert($0).inserted }
        let columns = schema.types[type].map { $0.columns.keys.sorted() } ?? []
        return MethodAnswer(
            invocation.name,
            [
                "accountId": .string(account), "state": .string(state.description),
                "list": .array(try rows.map { try row($0, columns: columns, properties) }),
                "notFound": .array(missing.map(JSON.string)),
            ], callID: invocation.callID)
    }

    /// A row with all its columns, or with those asked for. A column that was never written is null.
    private func row(_ logged: LoggedRow, columns: [String], _ properties: Set<String>?) throws -> JSON {
        guard var members = try JSON(parsing: logged.content).object else { throw StoreError.noAccount }
        for column in columns where members[column] == nil { members.append(column, .null) }
        guard let properties else { return .object(members) }
        return .object(JSONObject(members.members.filter { $0.key == "id" || properties.contains($0.key) }))
    }

    private func properties(of type: String, _ invocation: Invocation) throws(MethodError) -> Set<String>? {
        guard let names = try texts(invocation.arguments["properties"], "properties") else { return nil }
        let known = Set(schema.types[type]?.columns.keys.map(\.self) ?? []).union(["id", "@gen", "@hlc", "@seq"])
        guard let unknown = names.first(where: { !known.contains($0) }) else { return Set(names) }
        throw .invalidArguments("\(type) has no column \"\(unknown.prefix(64))\".")
    }

    private func texts(_ value: JSON?, _ name: String) throws(MethodError) -> [String]? {
        guard let value, !value.isNull else { return nil }
        guard let texts = value.array?.map(\.string), !texts.contains(nil) else {
            throw .invalidArguments("\"\(name)\" must be a list of strings, or null.")
        }
        return texts.compactMap(\.self)
    }
}
