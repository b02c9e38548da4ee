// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// `T/copy`: moves rows from one account to another.
///
/// > Source: RFC 8620 §5.4. A row is in one account only, so the server refuses copies that leave the original.
extension Exchange {
    struct PlannedCopy {
        var call: Call
        var copy: CopyCall
        var source: Book
        var before: SyncState
        var sourceBefore: SyncState
    }

    mutating func addCopy(_ call: Call, to plan: inout Plan) throws(MethodError) {
        let source = try book(of: call.arguments, named: "fromAccountId")
        guard let copy = CopyCall(json: presentNames(understood(call.arguments), of: call.type)) else {
            throw .invalidArguments("Invalid arguments of /copy: see RFC 8620, section 5.4, and the @-members of RS.")
        }
        try check(copy, from: source.state, to: call.book.state)
        plan.add(
            .copy(
                PlannedCopy(
                    call: call, copy: copy, source: source, before: call.book.state, sourceBefore: source.state)))
        let (place, from) = (plan.place(of: call.book.account), plan.place(of: source.account))
        for (creation, row) in copy.create {
            let id = rowID(row.id)
            var operation = RowOperation(
                key: RowKey(call.type, id), action: row.isWhole ? .create(row.patch) : .update(row.patch))
            (operation.book, operation.source, operation.hasOwnClocks) = (place, from, isPush)
            if !RowID.isValid(id) {
                operation.objection = SetError(
                    "invalidProperties", "The id is not a lower-case UUID.", properties: ["id"])
            }
            createdIDs[creation] = id
            plan.operations.append(operation)
        }
    }

    private func check(_ copy: CopyCall, from source: SyncState, to destination: SyncState) throws(MethodError) {
        if !copy.endsOriginals {
            throw .invalidArguments(
                "A row is in one account only. With \"onSuccessDestroyOriginal\": true, the server moves it.")
        }
        if copy.fromAccountID == copy.accountID {
            throw .invalidArguments("\"accountId\" and \"fromAccountId\" must differ.")
        }
        guard copy.create.count <= RowSync.Limit.rowsInSet else {
            throw .requestTooLarge(
                "A /copy may move at most \(RowSync.Limit.rowsInSet) rows, not \(copy.create.count).")
        }
        for (expected, state) in [(copy.ifFromInState, source), (copy.ifInState, destination)] {
            guard let expected, expected != state.description else { continue }
            throw MethodError("stateMismatch", "The current state is \(state).")
        }
    }
}

// MARK: - The answers

extension Exchange {
    mutating func answer(
        _ planned: PlannedCopy, _ results: some Sequence<(RowOperation, RowVerdict)>
    ) -> MethodAnswer {
        let state = planned.call.book.state
        var answer = CopyAnswer(
            fromAccountID: planned.source.account, oldState: planned.before.description, newState: state.description)
        for ((creation, _), (operation, verdict)) in zip(planned.copy.create, results) {
            answer.rowIDs[creation] = operation.key.id
            switch verdict {
            case .accepted(var row?):
                row.seq = state.seq
                answer.created.append((creation, row))
            case .mergedInto(let winner):
                if !knowsRowSync { answer.rowIDs[creation] = winner }
                answer.created.append((creation, RowPatch(mergedInto: winner)))
            case .gone(let deletion): answer.notCreated.append((creation, .gone(deletion)))
            case .refused(let error): answer.notCreated.append((creation, error))
            case .accepted(nil): answer.notCreated.append((creation, SetError("serverFail")))
            }
        }
        for (creation, _) in answer.notCreated { createdIDs[creation] = nil }
        return self.answer(planned.call, "copy", answer.json(accountID: planned.call.book.account))
    }

    /// The answer to the /set call that ends the rows in the source. Nil: no row moved.
    func impliedAnswer(
        _ planned: PlannedCopy, _ results: some Sequence<(RowOperation, Tombstone?)>
    ) -> MethodAnswer? {
        let state = planned.source.state
        var answer = SetAnswer(oldState: planned.sourceBefore.description, newState: state.description)
        for (_, (operation, tombstone)) in zip(planned.copy.create, results) {
            guard var tombstone else { continue }
            tombstone.seq = state.seq
            answer.destroyed.append(operation.key.id)
            if knowsRowSync { answer.tombstones[operation.key.id] = tombstone }
        }
        if answer.destroyed.isEmpty { return nil }
        return self.answer(planned.call, "set", answer.json(accountID: planned.source.account))
    }
}
