// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The limits on the size of answers, in bytes. They bound the memory of a request.
enum AnswerLimit {
    /// The rows of one call, or of all inline /changes calls of a request. Each inline call still gets at least one
    /// row.
    static let pageBytes = 16_000_000
    /// All answers to a request together.
    static let requestBytes = 64_000_000
    /// All answers that a request's references point to. The server parses these answers.
    static let referencedBytes = 4_000_000
}

/// `T/changes`: the standard form, and the inline form with the rows of several tables up to one common state.
extension Exchange {
    mutating func changes(_ call: Call) throws -> MethodAnswer {
        try checkIsStandard(call.arguments, ["inline", "snapshot"])
        if call.invocation.wantsSnapshot { return try rowsInOrder(call) }
        let asked = try read(call)
        guard asked.isInline else { return try standardChanges(call, asked) }
        try answerInline(from: call)
        guard let answer = readyAnswers.removeValue(forKey: call.index) else {
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

    private func read(_ call: Call) throws -> Asked {
        guard let asked = ChangesCall(json: call.arguments), asked.maxChanges.map({ $0 > 0 }) ?? true else {
            throw MethodError.invalidArguments("Invalid arguments of /changes: see RFC 8620, section 5.2.")
        }
        return Asked(
            since: try call.book.place(asked.sinceState, knowsEpochs: asked.isInline),
            limit: min(asked.maxChanges ?? RowSync.Limit.pageRows, settings.pageRows), isInline: asked.isInline)
    }

    private func standardChanges(_ call: Call, _ asked: Asked) throws -> MethodAnswer {
        let book = call.book
        let page = try book.snapshot.changes(
            type: call.type, from: asked.start, limit: asked.limit, maxBytes: AnswerLimit.pageBytes)
        let end = page.end(from: asked.start) ?? LogPosition(after: book.state.seq)
        var (created, updated, destroyed): ([JSON], [JSON], [JSON]) = ([], [], [])
        for row in page.rows where row.place < end {
            let isNew = row.bornSeq > asked.since.state.seq
            switch (row.isAlive, isNew) {
            case (true, true): created.append(.string(row.id))
            case (true, false): updated.append(.string(row.id))
            // The client never received a row that was created and deleted after the client's state.
            case (false, true) where row.generation == 2: break
            case (false, _): destroyed.append(.string(row.id))
            }
        }
        return MethodAnswer(
            call.invocation.name,
            [
                "accountId": .string(book.account), "oldState": .string(asked.since.state.description),
                "newState": .string(
                    book.state(at: end, begun: page.next == nil ? nil : asked.since.begun).description),
                "hasMoreChanges": .bool(page.next != nil), "created": .array(created), "updated": .array(updated),
                "destroyed": .array(destroyed),
            ], callID: call.invocation.callID)
    }
}

// MARK: - Inline

extension Exchange {
    private struct Table {
        var call: Call
        var asked: Asked
        var page: ChangePage
    }

    /// Answers this inline call, and later inline calls for the same account, from one snapshot, up to one common
    /// state.
    private mutating func answerInline(from first: Call) throws {
        var tables: [Table] = []
        for (later, invocation) in request.methodCalls.enumerated().dropFirst(first.index) {
            guard invocation.name.hasSuffix("/changes"), !invocation.wantsSnapshot else { continue }
            do {
                let call = later == first.index ? first : try self.call(invocation, at: later)
                guard call.book.account == first.book.account else { continue }
                let asked = try read(call)
                guard asked.isInline else { continue }
                let page = try call.book.snapshot.changes(
                    type: call.type, from: asked.start, limit: asked.limit, maxBytes: max(0, pageRoom))
                pageRoom -= page.rows.reduce(0) { $0 + $1.byteCount }
                tables.append(Table(call: call, asked: asked, page: page))
            } catch let error as MethodError {
                readyAnswers[later] = MethodAnswer(error, callID: invocation.callID)
            }
        }
        let end = tables.compactMap { $0.page.end(from: $0.asked.start) }.min()
        for table in tables { readyAnswers[table.call.index] = try inlineAnswer(table, end: end) }
    }

    private func call(_ invocation: Invocation, at index: Int) throws(MethodError) -> Call {
        let (type, _) = try method(invocation.name)
        return Call(index: index, type: type, invocation: invocation, book: try book(of: invocation.arguments))
    }

    private func inlineAnswer(_ table: Table, end: LogPosition?) throws -> MethodAnswer {
        let (call, book, start) = (table.call, table.call.book, table.asked.start)
        let stop = max(start, end ?? LogPosition(after: book.state.seq))
        let rows = table.page.rows.prefix { $0.place < stop }
        let living = rows.filter(\.isAlive)
        // A device without rows also receives deleted rows, because it may have pushed rows before it pulled.
        let dead = rows.filter { !$0.isAlive }
        var members: JSONObject = [
            "accountId": .string(book.account), "oldState": .string(table.asked.since.state.description),
            "newState": .string(book.state(at: stop, begun: end == nil ? nil : table.asked.since.begun).description),
            "hasMoreChanges": .bool(end != nil),
            "created": [], "updated": [], "destroyed": .array(dead.map { .string($0.id) }),
        ]
        if end != nil { members.append("head", .string(book.state.description)) }
        if let epochs = table.asked.since.epochs { members.append("epochs", epochs) }
        if let membership = book.snapshot.access.membership {
            members.append("member", .string(membership.memberID))
        }
        var answer = AnswerText(members, size: rows.reduce(0) { $0 + $1.content.count + 64 })
        answer.add("list", list: try living.map { try text(of: $0, call.type) })
        answer.add("destroyClocks", object: try dead.map { ($0.id, try text(of: $0, call.type)) })
        answer.close()
        return MethodAnswer(call.invocation.name, answer.bytes, callID: call.invocation.callID)
    }
}

extension Invocation {
    fileprivate var wantsSnapshot: Bool { arguments["snapshot"].map { !$0.isNull } ?? false }
}
