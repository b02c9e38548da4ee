// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// `RowSync/changed`: which of many accounts have changed, for a client that was away.
extension Exchange {
    static let changedMethod = "RowSync/changed"

    func changedAccounts(_ call: Invocation) throws(MethodError) -> MethodAnswer {
        guard let asked = call.arguments["states"]?.object, asked.members.allSatisfy({ $0.value.string != nil }) else {
            throw .invalidArguments("\"states\" must have a state for each account.")
        }
        guard asked.members.count <= RowSync.Limit.accountsInChanged else {
            throw .requestTooLarge("A call may ask for at most \(RowSync.Limit.accountsInChanged) accounts.")
        }
        var (changed, over): (JSONObject, JSONObject) = ([:], [:])
        var notFound: [JSON] = []
        for (account, state) in asked {
            if let present = states.open[account]?.state.description {
                if present != state.string { changed.append(account, .string(present)) }
            } else if let end = states.ended[account] {
                over.append(account, ["reason": .string(end.reason.rawValue), "at": .int(end.seq)])
            } else {
                notFound.append(.string(account))
            }
        }
        return MethodAnswer(
            call.name, ["changed": .object(changed), "ended": .object(over), "notFound": .array(notFound)],
            callID: call.callID)
    }
}

extension Request {
    /// The accounts whose states the request asks for, at most as many as one call may name.
    var accountsToCompare: Set<String> {
        let calls = methodCalls.filter { $0.name == Exchange.changedMethod }
        let named = calls.flatMap { $0.arguments["states"]?.object?.members.map(\.key) ?? [] }
        return Set(named.filter { !$0.utf8.contains(0) }.prefix(RowSync.Limit.accountsInChanged))
    }
}
