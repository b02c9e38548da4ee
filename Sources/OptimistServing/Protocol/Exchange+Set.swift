// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Exchange {
    struct PlannedSet {
        var call: Call
        var set: SetCall
        var ignored: [String: SetError] = [:]
        var before: SyncState
    }

    mutating func addSet(_ call: Call, to plan: inout Plan) throws(MethodError) {
        let (type, state) = (call.type, call.book.state)
        try checkIsStandard(call.arguments, ["destroyClocks"])
        let arguments = presentNames(understood(call.arguments), of: type)
        guard var set = SetCall(json: arguments) else {
            throw .invalidArguments("Invalid arguments of /set: see RFC 8620, section 5.3, and the @-members of RS.")
        }
        guard set.rowCount <= RowSync.Limit.rowsInSet else {
            throw .requestTooLarge("A /set may change at most \(RowSync.Limit.rowsInSet) rows, not \(set.rowCount).")
        }
        if let expected = set.ifInState, expected != state.description {
            throw MethodError("stateMismatch", "The current state is \(state).")
        }
        if type == settings.spaceTypes.member { set.dropTickets() }
        let made = makeIDs(for: &set, type)
        let ignored = settleTwice(&set)
        let place = plan.place(of: call.book.account)
        plan.add(.set(PlannedSet(call: call, set: set, ignored: ignored, before: state)))
        func operation(_ id: String, _ action: RowOperation.Action, _ members: JSON = .null) -> RowOperation {
            var operation = RowOperation(key: RowKey(type, id), action: action)
            operation.book = place
            operation.hasOwnClocks = isPush
            operation.objection = SetError(id: members["id"], of: id)
            return operation
        }
        func rows(_ member: String) -> [JSON] { arguments[member]?.object?.map(\.value) ?? [] }
        plan.operations += zip(zip(set.create, made), rows("create")).map { operation($0.1, .create($0.0.patch), $1) }
        plan.operations += zip(set.update, rows("update")).filter { ignored[$0.0.id] == nil }.map {
            operation(rowID($0.id), .update($0.patch), $1)
        }
        plan.operations += set.destroy.map { operation(rowID($0.id), .destroy($0.tombstone)) }
    }

    /// Handles rows that a call names twice. A second delete has no effect. An update is skipped if the call already
    /// updates the row under another name. Outside a push, an update is also skipped if the call destroys the row.
    ///
    /// - Returns: The skipped updates, each with its error.
    private func settleTwice(_ call: inout SetCall) -> [String: SetError] {
        var destroyed: Set<String> = []
        call.destroy.removeAll { !destroyed.insert(rowID($0.id)).inserted }
        var updated: Set<String> = []
        var ignored: [String: SetError] = [:]
        for (id, _) in call.update {
            if !isPush, destroyed.contains(rowID(id)) {
                ignored[id] = SetError("willDestroy", "The same call destroys the row.")
            } else if !updated.insert(rowID(id)).inserted {
                ignored[id] = SetError("invalidPatch", "The call already updates this row under its other name.")
            }
        }
        return ignored
    }

    /// Chooses the ids of new rows, in order, and resolves creation ids in the columns that refer to rows.
    private mutating func makeIDs(for call: inout SetCall, _ type: String) -> [String] {
        let ids = call.create.map { creation in
            RowID.isValid(creation.id) ? creation.id : settings.makeRowID()
        }
        for (creation, id) in zip(call.create, ids) { createdIDs[creation.id] = id }
        if createdIDs.isEmpty { return ids }
        let references = schema.types[type]?.columns.filter { $0.value.type == .ref }.map(\.key) ?? []
        for column in references {
            for index in call.create.indices { resolve(&call.create[index].patch.values, column) }
            for index in call.update.indices { resolve(&call.update[index].patch.values, column) }
        }
        return ids
    }

    private func resolve(_ values: inout JSONObject, _ column: String) {
        guard let text = values[column]?.string, text.hasPrefix("#") else { return }
        values[column] = .string(rowID(text))
    }

    /// Resolves `#creationId`. Returns any other text unchanged.
    func rowID(_ text: String) -> String {
        text.hasPrefix("#") ? createdIDs[String(text.dropFirst())] ?? text : text
    }
}

// MARK: - The answer

extension Exchange {
    mutating func answer(_ planned: PlannedSet, _ results: some Sequence<(RowOperation, RowVerdict)>) -> MethodAnswer {
        let (call, answer) = (planned.call, rows(planned, results))
        for (creation, _) in answer.created { createdIDs[creation] = answer.rowIDs[creation] }
        for (creation, _) in answer.notCreated { createdIDs[creation] = nil }
        return self.answer(call, "set", answer.json(accountID: call.book.account))
    }

    private func rows(_ plan: PlannedSet, _ verdicts: some Sequence<(RowOperation, RowVerdict)>) -> SetAnswer {
        var answer = SetAnswer(
            oldState: plan.before.description, newState: plan.call.book.state.description)
        var verdicts = verdicts.makeIterator()
        // If one call creates and destroys a row, the answer reports the row as created.
        let ended = isPush ? [] : Set(plan.set.destroy.map { rowID($0.id) })
        for (id, _) in plan.set.create {
            guard let (operation, verdict) = verdicts.next() else { break }
            answer.rowIDs[id] = operation.key.id
            switch verdict {
            case .accepted(let won): answer.created.append((id, won))
            case .mergedInto(let winner) where knowsRowSync && operation.key.id == id:
                answer.created.append((id, RowPatch(mergedInto: winner)))
            case .mergedInto(let winner):
                answer.created.append((id, nil))
                answer.rowIDs[id] = winner
            case .gone where ended.contains(operation.key.id): answer.created.append((id, nil))
            case .gone(let deletion): answer.notCreated.append((id, .gone(deletion)))
            case .refused(let error): answer.notCreated.append((id, error))
            }
        }
        for (id, _) in plan.set.update {
            if let error = plan.ignored[id] {
                answer.notUpdated.append((id, error))
                continue
            }
            guard let (operation, verdict) = verdicts.next() else { break }
            switch verdict {
            case .accepted(let won): answer.updated.append((operation.key.id, won))
            case .mergedInto(let winner): answer.updated.append((operation.key.id, RowPatch(mergedInto: winner)))
            case .gone(let deletion): answer.notUpdated.append((id, .gone(deletion)))
            case .refused(let error): answer.notUpdated.append((id, error))
            }
        }
        for (id, _) in plan.set.destroy {
            guard let (operation, verdict) = verdicts.next() else { break }
            switch verdict {
            // A delete follows a row that has moved: the device sends it again.
            case .gone(let deletion?) where deletion.movedTo != nil: answer.notDestroyed.append((id, .gone(deletion)))
            case .accepted, .gone, .mergedInto: answer.destroyed.append(operation.key.id)
            case .refused(let error): answer.notDestroyed.append((id, error))
            }
        }
        return answer
    }
}

extension SetError {
    static func gone(_ deletion: Tombstone?) -> SetError {
        SetError("notFound", "The row was deleted.", deletion: deletion)
    }

    fileprivate init?(id: JSON?, of row: String) {
        guard let id, id.string != row else { return nil }
        self.init("invalidProperties", "The server chooses a row's id, and no write can change it.", properties: ["id"])
    }
}
