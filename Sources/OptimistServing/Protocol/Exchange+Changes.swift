// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// How large answers may be, so that the memory of a request has a bound. In bytes.
enum AnswerLimit {
    /// The rows of one call, or of all the inline /changes of a request. Each of those has room for one row at least.
    static let pageBytes = 16_000_000
    /// All answers to a request.
    static let requestBytes = 64_000_000
}

/// `T/changes`: the standard form, and the inline form that carries the rows of several tables up to one common state.
extension Exchange {
    mutating func changes(_ type: String, _ invocation: Invocation, at index: Int) throws -> MethodAnswer {
        let asked = try read(invocation)
        guard asked.isInline else { return try standardChanges(type, asked, invocation) }
        try answerInline(from: index, invocation)
        guard let answer = readyAnswers.removeValue(forKey: index) else {
            throw MethodError("serverFail", "The call was not answered.")
        }
        return answer
    }

    private struct Asked {
        var since: SyncState
        var limit: Int
        var isInline: Bool
        var start: Place { Place(after: since) }
    }

    private func read(_ invocation: Invocation) throws -> Asked {
        guard let call = ChangesCall(json: invocation.arguments), call.maxChanges.map({ $0 > 0 }) ?? true else {
            throw MethodError.invalidArguments("They are not those of a /changes: see RFC 8620, section 5.2.")
        }
        let limit = min(call.maxChanges ?? RowSync.Limit.pageRows, RowSync.Limit.maxPageRows)
        guard let since = SyncState(call.sinceState) else {
            throw MethodError("cannotCalculateChanges", "\"sinceState\" is no state of this server.")
        }
        if since.epoch == settings.epoch, since.seq <= state.seq, since.offset == 0 || since.seq < state.seq {
            return Asked(since: since, limit: limit, isInline: call.isInline)
        }
        let epochs = try snapshot.epochs()
        if epochs.contain(since) { return Asked(since: since, limit: limit, isInline: call.isInline) }
        // A client that knows only the RFC hears what it understands: fetch everything anew.
        guard call.isInline else {
            throw MethodError("cannotCalculateChanges", "The server's data has gone back since that state.")
        }
        throw MethodError("forked", "The server's data has gone back since that state.", ["epochs": epochs.json])
    }

    private func standardChanges(_ type: String, _ asked: Asked, _ invocation: Invocation) throws -> MethodAnswer {
        let page = try snapshot.changes(
            type: type, from: asked.start, limit: asked.limit, maxBytes: AnswerLimit.pageBytes)
        let end = page.end(from: asked.start) ?? Place(after: state.seq)
        var (created, updated, destroyed): ([JSON], [JSON], [JSON]) = ([], [], [])
        for row in page.rows where row.place < end {
            let isNew = row.bornSeq > asked.since.seq
            switch (row.isAlive, isNew) {
            case (true, true): created.append(.string(row.id))
            case (true, false): updated.append(.string(row.id))
            // What began and ended since then, the client never heard of.
            case (false, true) where row.generation == 2: break
            case (false, _): destroyed.append(.string(row.id))
            }
        }
        return MethodAnswer(
            invocation.name,
            [
                "accountId": .string(account), "oldState": .string(asked.since.description),
                "newState": .string(end.state(epoch: settings.epoch).description),
                "hasMoreChanges": .bool(page.next != nil), "created": .array(created), "updated": .array(updated),
                "destroyed": .array(destroyed),
            ], callID: invocation.callID)
    }
}

// MARK: - Inline

extension Exchange {
    private struct Table {
        var index: Int
        var invocation: Invocation
        var asked: Asked
        var page: ChangePage
    }

    /// Answers this inline call together with the later ones, from one snapshot and up to one common state.
    private mutating func answerInline(from index: Int, _ first: Invocation) throws {
        var tables: [Table] = []
        var budget = AnswerLimit.pageBytes
        for (later, call) in request.methodCalls.enumerated().dropFirst(index) {
            guard call.name.hasSuffix("/changes") else { continue }
            let call = later == index ? first : call
            do {
                let (type, _) = try method(call.name)
                try checkAccount(call.arguments)
                let asked = try read(call)
                guard asked.isInline else { continue }
                let page = try snapshot.changes(
                    type: type, from: asked.start, limit: asked.limit, maxBytes: max(0, budget))
                budget -= page.rows.reduce(0) { $0 + $1.content.count }
                tables.append(Table(index: later, invocation: call, asked: asked, page: page))
            } catch let error as MethodError {
                readyAnswers[later] = MethodAnswer(error, callID: call.callID)
            }
        }
        let end = tables.compactMap { $0.page.end(from: $0.asked.start) }.min()
        for table in tables { readyAnswers[table.index] = inlineAnswer(table, end: end) }
    }

    private func inlineAnswer(_ table: Table, end: Place?) -> MethodAnswer {
        let start = table.asked.start
        let stop = max(start, end ?? Place(after: state.seq))
        let rows = table.page.rows.prefix { $0.place < stop }
        let living = rows.filter(\.isAlive)
        // Whoever starts from nothing has nothing to remove.
        let dead = start == .start ? [] : rows.filter { !$0.isAlive }
        var text: [UInt8] = []
        text.reserveCapacity(rows.reduce(512) { $0 + $1.content.count + 1 })
        text += "{\"accountId\":".utf8
        JSON.string(account).write(to: &text)
        text += ",\"oldState\":\"\(table.asked.since)\",\"newState\":\"\(stop.state(epoch: settings.epoch))\"".utf8
        text += ",\"hasMoreChanges\":\(end != nil),\"created\":[],\"updated\":[],\"list\":[".utf8
        text.append(separating: living.map(\.content))
        text += "],\"destroyed\":[".utf8
        text.append(separating: dead.map { JSON.string($0.id).bytes })
        text += "],\"destroyClocks\":{".utf8
        text.append(separating: dead.map { JSON.string($0.id).bytes + [UInt8(ascii: ":")] + $0.content })
        text += "}}".utf8
        return MethodAnswer(table.invocation.name, text, callID: table.invocation.callID)
    }
}

extension [UInt8] {
    /// Appends texts with commas between them.
    fileprivate mutating func append(separating texts: some Sequence<[UInt8]>) {
        var isFirst = true
        for text in texts {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            append(contentsOf: text)
        }
    }
}
