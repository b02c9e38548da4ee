// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// `T/changes` with `snapshot`: the living rows of a type in the order of their ids, page by page.
///
/// Each page is one index scan from the end of the previous page, so later pages are as fast as the first. Rows may
/// change between pages. After the last page, the client asks for the changes since `at`.
extension Exchange {
    mutating func rowsInOrder(_ type: String, _ invocation: Invocation) throws -> MethodAnswer {
        guard let call = SnapshotCall(json: invocation.arguments), call.maxChanges.map({ $0 > 0 }) ?? true else {
            throw MethodError.invalidArguments("Invalid arguments of a snapshot: \"snapshot\": {\"at\", \"after\"}.")
        }
        // No row id contains a zero character, and some stores cannot search for one.
        guard call.after?.utf8.contains(0) != true else {
            throw MethodError.invalidArguments("\"after\" is not a row id.")
        }
        let at =
            try call.at.map { try place($0, knowsEpochs: true) }
            ?? KnownState(state: state(at: LogPosition(after: opening.seq)))
        let limit = min(call.maxChanges ?? RowSync.Limit.pageRows, settings.pageRows)
        let page = try snapshot.livingRows(type: type, after: call.after, limit: limit, maxBytes: max(0, pageRoom))
        pageRoom -= page.rows.reduce(0) { $0 + $1.byteCount }
        let next = page.hasMore ? page.rows.last.map { JSON.string($0.id) } : nil
        var members: JSONObject = [
            "accountId": .string(account), "at": .string(at.state.description), "next": next ?? .null,
            "head": .string(state.description),
        ]
        if call.after == nil { members.append("total", .int(Int64(try snapshot.livingCount(type: type)))) }
        if let epochs = at.epochs { members.append("epochs", epochs) }
        var answer = AnswerText(members, size: page.rows.reduce(0) { $0 + $1.content.count + 1 })
        answer.add("list", list: try page.rows.map { try text(of: $0, type) })
        answer.close()
        return MethodAnswer(invocation.name, answer.bytes, callID: invocation.callID)
    }
}
