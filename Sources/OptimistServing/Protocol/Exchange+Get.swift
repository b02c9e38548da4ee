// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Exchange {
    func get(_ call: Call) throws -> MethodAnswer {
        let (type, snapshot) = (call.type, call.book.snapshot)
        let asked = try texts(call.arguments["ids"], "ids")
        let limit = RowSync.Limit.rowsInSet
        if let asked, asked.count > limit {
            throw MethodError.requestTooLarge("A /get may request at most \(limit) rows.")
        }
        // A row that is requested twice appears once (RFC 8620 §5.1).
        var named: Set<String> = []
        let ids = asked?.filter { named.insert($0).inserted }
        try meter?.step(count: (ids?.count ?? 0) / RowReader.keysPerStep)
        let properties = try properties(of: call)
        let room = AnswerLimit.pageBytes
        let living =
            try ids.map { try snapshot.livingRows(type: type, ids: $0, maxBytes: room) }
            ?? snapshot.livingRows(type: type, after: nil, limit: limit, maxBytes: room)
        if living.hasMore {
            throw MethodError.requestTooLarge(
                "The result exceeds \(limit) rows or \(room) bytes. Request fewer rows, or use /changes.")
        }
        let rows = living.rows
        var seen = Set(rows.map(\.id))
        let missing = (ids ?? []).filter { seen.insert($0).inserted }
        let columns = schema.types[type].map { $0.columns.sorted { $0.key < $1.key } } ?? []
        return MethodAnswer(
            call.invocation.name,
            [
                "accountId": .string(call.book.account), "state": .string(call.book.state.description),
                "list": .array(
                    try rows.map { row in
                        let shown = vocabulary.former(try self.row(row, columns: columns, properties), of: type)
                        return .object(knowsRowSync ? shown : shown.withoutMarks)
                    }),
                "notFound": .array(missing.map(JSON.string)),
            ], callID: call.invocation.callID)
    }

    /// A row with all columns, or with the requested columns. A column that was never written is null, and a counter is
    /// zero.
    private func row(_ logged: LoggedRow, columns: [(key: String, value: ColumnSchema)], _ properties: Set<String>?)
        throws -> JSONObject
    {
        guard var members = try JSON(parsing: logged.content(for: origins)).object else { throw StoreError.noAccount }
        let present = Set(members.lazy.map(\.key))
        for (column, definition) in columns where !present.contains(column) {
            members.append(column, definition.type == .counter ? 0 : .null)
        }
        guard let properties else { return members }
        return JSONObject(members.members.filter { $0.key == "id" || properties.contains($0.key) })
    }

    private func properties(of call: Call) throws(MethodError) -> Set<String>? {
        let type = call.type
        let asked = try texts(call.arguments["properties"], "properties")
        guard let names = asked?.map({ vocabulary.presentColumn($0, of: type) }) else { return nil }
        let marks: Set = ["@gen", "@hlc", "@seq", "@mine", "@first"]
        let known = Set(schema.types[type]?.columns.keys.map(\.self) ?? []).union(["id"])
            .union(knowsRowSync ? marks : [])
        guard let unknown = names.first(where: { !known.contains($0) }) else { return Set(names) }
        throw .invalidArguments("The column \"\(unknown.prefix(64))\" does not exist.")
    }

    private func texts(_ value: JSON?, _ name: String) throws(MethodError) -> [String]? {
        guard let value, !value.isNull else { return nil }
        guard let texts = value.array?.map(\.string), !texts.contains(nil) else {
            throw .invalidArguments("\"\(name)\" must be a list of strings, or null.")
        }
        return texts.compactMap(\.self)
    }
}
