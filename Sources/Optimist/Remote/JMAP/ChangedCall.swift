// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// The question which spaces have changed, as one JMAP request, and its answer. Pure.
package struct ChangedCall {
    private let cursors: [String: String]
    private let account: String
    package let request: Request

    /// - Parameters:
    ///   - cursors: The cursor of each space.
    ///   - account: The person's own account.
    package init(since cursors: [String: String], account: String, schemaVersion: Int? = nil) {
        self.cursors = cursors
        self.account = account
        var states = cursors.map { (SpaceAccount.id(of: $0.key, own: account), JSON.string($0.value)) }
        // No state is empty, so the answer has the present one, which names the epoch.
        states.append((account, ""))
        request = Request(
            methodCalls: [
                Invocation(
                    "RowSync/changed", ["states": .object(JSONObject(states.sorted { $0.0 < $1.0 }))], callID: "0")
            ], schemaVersion: schemaVersion)
    }

    /// - Throws: ``RemoteFailure``.
    package func answer(from response: Response) throws(RemoteFailure) -> ChangedSpaces {
        let answer = try response.answer("0", of: "RowSync/changed")
        // A server without this method leaves the question open.
        if answer.error == "unknownMethod" { return ChangedSpaces(changed: Set(cursors.keys)) }
        let arguments = try answer.arguments()
        guard let changed = arguments["changed"]?.object, let ended = arguments["ended"]?.object else {
            throw RemoteFailure.unreachable("unreadable list of changed spaces")
        }
        func named<Value>(_ accounts: JSONObject, _ value: (JSON) -> Value) -> [String: Value] {
            let known = accounts.compactMap { id, json in SpaceAccount.space(of: id).map { ($0, value(json)) } }
            return Dictionary(known, uniquingKeysWith: { $1 }).filter { cursors[$0.key] != nil }
        }
        var spaces = ChangedSpaces(
            changed: Set(named(changed) { _ in }.keys), ended: named(ended) { EndedAccess(json: $0.object ?? [:]) })
        let missing = (arguments["notFound"]?.array ?? []).compactMap { $0.string.flatMap(SpaceAccount.space) }
        spaces.missing = Set(missing).intersection(cursors.keys)
        spaces.epoch = changed[account]?.string.flatMap { SyncState($0)?.epoch }
        return spaces
    }
}
