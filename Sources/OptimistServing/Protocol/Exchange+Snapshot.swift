// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// `T/changes` with `snapshot`: the living rows of a type in the order of their ids, page by page.
///
/// Each page is one index scan from the end of the previous page, so later pages are as fast as the first. Rows may
/// change between pages. After the last page, the client asks for the changes since `at`.
extension Exchange {
    mutating func rowsInOrder(_ call: Call) throws -> MethodAnswer {
        guard let asked = SnapshotCall(json: call.arguments), asked.maxChanges.map({ $0 > 0 }) ?? true else {
            throw MethodError.invalidArguments("Invalid arguments of a snapshot: \"snapshot\": {\"at\", \"after\"}.")
        }
        // No row id contains a zero character, and some stores cannot search for one.
        guard asked.after?.utf8.contains(0) != true else {
            throw MethodError.invalidArguments("\"after\" is not a row id.")
        }
        let (book, snapshot) = (call.book, call.book.snapshot)
        let at =
            try asked.at.map { try book.place($0, knowsEpochs: true) }
            ?? KnownState(state: book.state(at: LogPosition(after: book.opening.seq)))
        let limit = min(asked.maxChanges ?? RowSync.Limit.pageRows, settings.pageRows)
        let page = try snapshot.livingRows(
            type: call.type, after: asked.after, limit: limit, maxBytes: max(0, pageRoom))
        pageRoom -= page.rows.reduce(0) { $0 + $1.byteCount }
        let next = page.hasMore ? page.rows.last.map { JSON.string($0.id) } : nil
        var members: JSONObject = [
            "accountId": .string(book.account), "at": .string(at.state.description), "next": next ?? .null,
            "head": .string(book.state.description),
        ]
        if asked.after == nil { members.append("total", .int(Int64(try snapshot.livingCount(type: call.type)))) }
        if let epochs = at.epochs { members.append("epochs", epochs) }
        var answer = AnswerText(members, size: page.rows.reduce(0) { $0 + $1.content.count + 1 })
        answer.add("list", list: try page.rows.map { try text(of: $0, call.type) })
        answer.close()
        return MethodAnswer(call.invocation.name, answer.bytes, callID: call.invocation.callID)
    }
}
