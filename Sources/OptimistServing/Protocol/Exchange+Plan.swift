// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Carries out calls that write rows. All such calls of a push are evaluated together.
extension Exchange {
    /// The calls that are evaluated together, with their operations in order.
    struct Plan {
        enum Planned {
            case set(PlannedSet)
            case copy(PlannedCopy)
        }

        private(set) var calls: [(planned: Planned, start: Int)] = []
        var operations: [RowOperation] = []
        /// The accounts of the calls. An operation names its account by the account's place in this list.
        private(set) var accounts: [String] = []

        mutating func place(of account: String) -> Int {
            if let place = accounts.firstIndex(of: account) { return place }
            accounts.append(account)
            return accounts.count - 1
        }

        /// Adds a call. Its operations are added next.
        mutating func add(_ planned: Planned) { calls.append((planned, operations.count)) }
    }

    mutating func write(_ call: Call) throws -> MethodAnswer {
        var plan = Plan()
        try add(call, to: &plan)
        if isPush { addRest(after: call.index, to: &plan) }
        try carryOut(plan)
        guard let answer = readyAnswers.removeValue(forKey: call.index) else {
            throw MethodError("serverFail", "The call was not answered.")
        }
        return answer
    }

    private mutating func addRest(after index: Int, to plan: inout Plan) {
        for (later, invocation) in request.methodCalls.enumerated().dropFirst(index + 1) where invocation.writes {
            do throws(MethodError) {
                let book = try book(of: invocation.arguments, toWrite: true)
                let (type, _) = try method(invocation.name)
                try add(Call(index: later, type: type, invocation: invocation, book: book), to: &plan)
            } catch {
                noteUnread(invocation)
                readyAnswers[later] = MethodAnswer(error, callID: invocation.callID)
            }
        }
    }

    private mutating func add(_ call: Call, to plan: inout Plan) throws(MethodError) {
        if call.invocation.isCopy { try addCopy(call, to: &plan) } else { try addSet(call, to: &plan) }
    }

    private mutating func carryOut(_ plan: Plan) throws {
        let operations = plan.operations
        let groups = isPush ? request.groups.map { $0.compactMap { RowKey(vocabulary.presentRow($0)) } } : []
        let context = SetEvaluation.Context(
            schema: schema, spaceTypes: settings.spaceTypes, spaceLimits: settings.spaceLimits, spaces: spaces,
            writer: Writer(reader), device: isPush ? request.device : nil, origins: origins,
            validate: settings.validate,
            rowValidation: settings.rowValidation, hook: hook, unreadTypes: unreadTypes, meter: meter, texts: texts)
        let evaluation = try SetEvaluation.joining(
            operations, groups: groups, in: context,
            over: plan.accounts.compactMap { books[$0].map { SetEvaluation.Book($0.snapshot, in: context) } },
            clock: clock)
        clock = evaluation.clock
        let events = try evaluation.changes.indices.map { try evaluation.events(in: $0) }
        for (account, (changes, events)) in zip(plan.accounts, zip(evaluation.changes, events)) {
            try books[account]?.append(changes, events, day: clock.day)
        }
        let verdicts = waitingForUpdate(evaluation.verdicts, of: operations, evaluation.context.texts)
        for (operation, verdict) in zip(operations, verdicts) { report.add(verdict, of: operation.key) }
        for (planned, start) in plan.calls {
            let results = zip(operations, verdicts).dropFirst(start)
            switch planned {
            case .set(let set): readyAnswers[set.call.index] = answer(set, results)
            case .copy(let copy):
                let departures = operations.indices.dropFirst(start).map { evaluation.departures[$0] }
                readyAnswers[copy.call.index] = answer(copy, results)
                impliedAnswers[copy.call.index] = impliedAnswer(copy, zip(operations.dropFirst(start), departures))
            }
        }
    }

    /// An answer in the client's vocabulary.
    func answer(_ call: Call, _ verb: String, _ arguments: JSONObject) -> MethodAnswer {
        MethodAnswer(
            "\(vocabulary.formerType(call.type))/\(verb)", readable(clientNames(arguments, of: call.type)),
            callID: call.invocation.callID)
    }
}
