// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The limits on the size of answers, in bytes. They bound the memory of a request.
enum AnswerLimit {
    /// The rows of one call, or of all inline /changes calls of a request. Each inline call still gets at least one
    /// row.
    static let pageBytes = 16_000_000
    /// All answers to a request together.
    static let requestBytes = 64_000_000
    /// All answers that a request's references point to. They are parsed.
    static let referencedBytes = 4_000_000
}

/// `T/changes`: the standard form, and the inline form with the rows of several tables up to one common state.
extension Exchange {
    mutating func changes(_ type: String, _ invocation: Invocation, at index: Int) throws -> MethodAnswer {
        try checkIsStandard(invocation.arguments, ["inline", "snapshot"])
        if invocation.wantsSnapshot { return try rowsInOrder(type, invocation) }
        let asked = try read(invocation)
        guard asked.isInline else { return try standardChanges(type, asked, invocation) }
        try answerInline(from: index, invocation)
        guard let answer = readyAnswers.removeValue(forKey: index) else {
            throw MethodError("serverFail", "The call was not answered.")
        }
        return answer
    }

    private struct Asked {
        var since: KnownState
        var limit: Int
        var isInline: Bool
        var start: LogPosition { since.start }
    }

    private func read(_ invocation: Invocation) throws -> Asked {
        guard let call = ChangesCall(json: invocation.arguments), call.maxChanges.map({ $0 > 0 }) ?? true else {
            throw MethodError.invalidArguments("Invalid arguments of /changes: see RFC 8620, section 5.2.")
        }
        let limit = min(call.maxChanges ?? RowSync.Limit.pageRows, settings.pageRows)
        return Asked(
            since: try place(call.sinceState, knowsEpochs: call.isInline), limit: limit, isInline: call.isInline)
    }

    private func standardChanges(_ type: String, _ asked: Asked, _ invocation: Invocation) throws -> MethodAnswer {
        let page = try snapshot.changes(
            type: type, from: asked.start, limit: asked.limit, maxBytes: AnswerLimit.pageBytes)
        let end = page.end(from: asked.start) ?? LogPosition(after: state.seq)
        var (created, updated, destroyed): ([JSON], [JSON], [JSON]) = ([], [], [])
        for row in page.rows where row.place < end {
            let isNew = row.bornSeq > asked.since.state.seq
            switch (row.isAlive, isNew) {
            case (true, true): created.append(.string(row.id))
            case (true, false): updated.append(.string(row.id))
            // The client never received a row that was created and deleted since its state.
            case (false, true) where row.generation == 2: break
            case (false, _): destroyed.append(.string(row.id))
            }
        }
        return MethodAnswer(
            invocation.name,
            [
                "accountId": .string(account), "oldState": .string(asked.since.state.description),
                "newState": .string(
                    state(at: end, begun: page.next == nil ? nil : asked.since.begun).description),
                "hasMoreChanges": .bool(page.next != nil), "created": .array(created), "updated": .array(updated),
                "destroyed": .array(destroyed),
            ], callID: invocation.callID)
    }
}

// MARK: - Inline

extension Exchange {
    private struct Table {
        var index: Int
        var type: String
        var invocation: Invocation
        var asked: Asked
        var page: ChangePage
    }

    /// Answers this inline call and the later ones from one snapshot, up to one common state.
    private mutating func answerInline(from index: Int, _ first: Invocation) throws {
        var tables: [Table] = []
        for (later, call) in request.methodCalls.enumerated().dropFirst(index) {
            guard call.name.hasSuffix("/changes"), !call.wantsSnapshot else { continue }
            let call = later == index ? first : call
            do {
                let (type, _) = try method(call.name)
                try checkAccount(call.arguments)
                let asked = try read(call)
                guard asked.isInline else { continue }
                let page = try snapshot.changes(
                    type: type, from: asked.start, limit: asked.limit, maxBytes: max(0, pageRoom))
                pageRoom -= page.rows.reduce(0) { $0 + $1.byteCount }
                tables.append(Table(index: later, type: type, invocation: call, asked: asked, page: page))
            } catch let error as MethodError {
                readyAnswers[later] = MethodAnswer(error, callID: call.callID)
            }
        }
        let end = tables.compactMap { $0.page.end(from: $0.asked.start) }.min()
        for table in tables { readyAnswers[table.index] = try inlineAnswer(table, end: end) }
    }

    private func inlineAnswer(_ table: Table, end: LogPosition?) throws -> MethodAnswer {
        let start = table.asked.start
        let stop = max(start, end ?? LogPosition(after: state.seq))
        let rows = table.page.rows.prefix { $0.place < stop }
        let living = rows.filter(\.isAlive)
        // A device without rows also receives deleted rows, because it may have pushed rows before it pulled.
        let dead = rows.filter { !$0.isAlive }
        var members: JSONObject = [
            "accountId": .string(account), "oldState": .string(table.asked.since.state.description),
            "newState": .string(state(at: stop, begun: end == nil ? nil : table.asked.since.begun).description),
            "hasMoreChanges": .bool(end != nil),
            "created": [], "updated": [], "destroyed": .array(dead.map { .string($0.id) }),
        ]
        if end != nil { members.append("head", .string(state.description)) }
        if let epochs = table.asked.since.epochs { members.append("epochs", epochs) }
        var answer = AnswerText(members, size: rows.reduce(0) { $0 + $1.content.count + 64 })
        answer.add("list", list: try living.map { try text(of: $0, table.type) })
        answer.add("destroyClocks", object: try dead.map { ($0.id, try text(of: $0, table.type)) })
        answer.close()
        return MethodAnswer(table.invocation.name, answer.bytes, callID: table.invocation.callID)
    }
}

extension Invocation {
    fileprivate var wantsSnapshot: Bool { arguments["snapshot"].map { !$0.isNull } ?? false }
}
