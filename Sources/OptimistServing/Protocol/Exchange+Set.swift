// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// `T/set`: reading the calls, having them evaluated, storing what changed, and answering.
extension Exchange {
    /// A call whose rows are ready to be evaluated.
    private struct Planned {
        var index: Int
        var callID: String
        var type: String
        var call: SetCall
        /// The first of its operations among all that are evaluated together.
        var start: Int
    }

    mutating func set(_ invocation: Invocation, at index: Int) throws -> MethodAnswer {
        var planned: [Planned] = []
        var operations: [RowOperation] = []
        try plan(invocation, at: index, &planned, &operations)
        if isPush { planRest(after: index, &planned, &operations) }
        try evaluate(planned, operations)
        guard let answer = readyAnswers.removeValue(forKey: index) else {
            throw MethodError("serverFail", "The call was not answered.")
        }
        return answer
    }

    /// Plans the later /set calls of a push: together they are one transaction.
    private mutating func planRest(
        after index: Int, _ planned: inout [Planned], _ operations: inout [RowOperation]
    ) {
        for (later, call) in request.methodCalls.enumerated().dropFirst(index + 1) where call.isSet {
            do throws(MethodError) {
                try checkAccount(call.arguments)
                try plan(call, at: later, &planned, &operations)
            } catch {
                noteUnread(call)
                readyAnswers[later] = MethodAnswer(error, callID: call.callID)
            }
        }
    }

    private mutating func plan(
        _ invocation: Invocation, at index: Int, _ planned: inout [Planned], _ operations: inout [RowOperation]
    ) throws(MethodError) {
        let (type, _) = try method(invocation.name)
        guard var call = SetCall(json: presentNames(invocation.arguments, of: type)) else {
            throw .invalidArguments("They are not those of a /set: see RFC 8620, section 5.3, and the @-members of RS.")
        }
        guard call.rowCount <= RowSync.Limit.rowsInSet else {
            throw .requestTooLarge("A /set names at most \(RowSync.Limit.rowsInSet) rows, not \(call.rowCount).")
        }
        if let expected = call.ifInState, expected != state.description {
            throw MethodError("stateMismatch", "The state is \(state).")
        }
        let made = makeIDs(for: &call, type)
        planned.append(
            Planned(index: index, callID: invocation.callID, type: type, call: call, start: operations.count))
        operations += zip(call.create, made).map { RowOperation(key: RowKey(type, $1), action: .create($0.patch)) }
        operations += call.update.map { RowOperation(key: RowKey(type, rowID($0.id)), action: .update($0.patch)) }
        operations += call.destroy.map { RowOperation(key: RowKey(type, rowID($0.id)), action: .destroy($0.tombstone)) }
    }

    /// Chooses the rows' ids, and replaces references to creation ids in the columns that refer to rows.
    ///
    /// - Returns: The ids of the rows to create, in order.
    private mutating func makeIDs(for call: inout SetCall, _ type: String) -> [String] {
        let ids = call.create.map { creation in
            RowID.isValid(creation.id) ? creation.id : settings.makeRowID()
        }
        for (creation, id) in zip(call.create, ids) where creation.id != id { createdIDs[creation.id] = id }
        if createdIDs.isEmpty { return ids }
        let references = schema.types[type]?.columns.filter { $0.value.type == .ref }.map(\.key) ?? []
        for column in references {
            for index in call.create.indices { resolve(&call.create[index].patch.values[column]) }
            for index in call.update.indices { resolve(&call.update[index].patch.values[column]) }
        }
        return ids
    }

    private func resolve(_ value: inout JSON?) {
        if let text = value?.string, text.hasPrefix("#") { value = .string(rowID(text)) }
    }

    /// The id that `#creationId` stands for. Anything else stands for itself.
    private func rowID(_ text: String) -> String {
        text.hasPrefix("#") ? createdIDs[String(text.dropFirst())] ?? text : text
    }
}

// MARK: - Evaluating and storing

extension Exchange {
    private mutating func evaluate(_ planned: [Planned], _ operations: [RowOperation]) throws {
        guard let transaction else { throw MethodError("serverFail", "The request was not opened for writing.") }
        let before = state
        let groups = isPush ? request.groups.map { $0.compactMap { RowKey(vocabulary.presentRow($0)) } } : []
        let context = SetEvaluation.Context(
            schema: schema, origins: origins, validate: settings.validate, unreadTypes: unreadTypes)
        let evaluation = try SetEvaluation(operations, groups: groups, in: context, over: transaction, clock: clock)
        clock = evaluation.clock
        if !evaluation.changes.isEmpty {
            _ = try transaction.append(evaluation.changes, day: clock.day)
            changedTypes.formUnion(evaluation.changes.map(\.key.type))
        }
        let verdicts = waitingForUpdate(evaluation.verdicts, of: operations)
        for plan in planned {
            let answer = answer(plan, verdicts, before: before)
            readyAnswers[plan.index] = MethodAnswer(
                "\(vocabulary.formerType(plan.type))/set",
                clientNames(answer.json(accountID: account), of: plan.type), callID: plan.callID)
        }
    }

    private func answer(_ plan: Planned, _ verdicts: [RowVerdict], before: SyncState) -> SetAnswer {
        var answer = SetAnswer(oldState: before.description, newState: state.description)
        var position = plan.start
        func next() -> RowVerdict {
            defer { position += 1 }
            return verdicts[position]
        }
        for (id, _) in plan.call.create {
            switch next() {
            case .accepted(let won):
                answer.created.append((id, won))
                answer.rowIDs[id] = createdIDs[id]
            case .mergedInto(let winner): answer.created.append((id, RowPatch(mergedInto: winner)))
            case .gone(let deletion): answer.notCreated.append((id, .gone(deletion)))
            case .refused(let error): answer.notCreated.append((id, error))
            }
        }
        for (id, _) in plan.call.update {
            switch next() {
            case .accepted(let won): answer.updated.append((rowID(id), won))
            case .mergedInto(let winner): answer.updated.append((rowID(id), RowPatch(mergedInto: winner)))
            case .gone(let deletion): answer.notUpdated.append((id, .gone(deletion)))
            case .refused(let error): answer.notUpdated.append((id, error))
            }
        }
        for (id, _) in plan.call.destroy {
            switch next() {
            case .accepted, .gone, .mergedInto: answer.destroyed.append(rowID(id))
            case .refused(let error): answer.notDestroyed.append((id, error))
            }
        }
        return answer
    }
}

extension SetError {
    static func gone(_ deletion: Tombstone?) -> SetError {
        SetError("notFound", "The row was deleted meanwhile.", deletion: deletion)
    }
}
