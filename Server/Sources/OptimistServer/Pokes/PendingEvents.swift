// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A listener's unsent events: at most one of each kind. After each state the listener rests for a moment, so that a
/// burst of changes becomes one event.
struct PendingEvents: Hashable, Sendable {
    private var changes: [String: Change] = [:]
    private var isPingDue = false
    private var isResting = false
    private var endReason: String?

    /// The changed types of an account, up to a state.
    struct Change: Hashable, Sendable {
        /// Nil: anything may have changed.
        var types: Set<String>?
        var state: SyncState

        var isEmpty: Bool { types?.isEmpty == true }

        /// The change without the types that a listener did not ask for.
        func of(_ wanted: Set<String>) -> Change { Change(types: types?.intersection(wanted) ?? wanted, state: state) }

        /// A state that arrives out of order adds its types but not its number.
        func followed(by other: Change) -> Change {
            let all = types.flatMap { types in other.types.map(types.union) }
            return Change(types: all, state: state.followed(by: other.state))
        }
    }

    mutating func note(_ change: Change, of account: String) {
        changes[account] = changes[account]?.followed(by: change) ?? change
    }

    mutating func notePing() { isPingDue = true }

    mutating func noteEnd(_ reason: String) { endReason = endReason ?? reason }

    mutating func noteRested() { isResting = false }

    /// Returns the event to send now, if any. After a state event, the listener gets no event until `noteRested()`.
    mutating func take(pingSeconds: Int) -> ServerEvent? {
        if let endReason { return .sessionEnded(reason: endReason) }
        if isResting { return nil }
        defer { (changes, isPingDue) = ([:], false) }
        if changes.isEmpty { return isPingDue ? .ping(seconds: pingSeconds) : nil }
        isResting = true
        return .state(changes)
    }
}

/// An event of the event source.
///
/// > Source: RFC 8620 §7.3; the `session` event is an extension.
enum ServerEvent: Hashable, Sendable {
    /// The changes by account.
    case state([String: PendingEvents.Change])
    case ping(seconds: Int)
    case sessionEnded(reason: String)

    /// In the HTML standard's event stream format.
    var text: String {
        switch self {
        case .state(let changes):
            let changed = changes.sorted { $0.key < $1.key }.map { account, change in
                let types = (change.types ?? []).sorted().map { ($0, JSON.string(change.state.description)) }
                return (account, JSON.object(JSONObject(types)))
            }
            let data: JSON = ["@type": "StateChange", "changed": .object(JSONObject(changed))]
            // An event about several accounts does not have one state.
            let id = changes.count == 1 ? changes.values.first.map { "id: \($0.state)\n" } ?? "" : ""
            return "event: state\n\(id)data: \(data)\n\n"
        case .ping(let seconds):
            return "event: ping\ndata: {\"interval\":\(seconds)}\n\n"
        case .sessionEnded(let reason):
            let data: JSON = ["reason": .string(reason)]
            return "event: session\ndata: \(data)\n\n"
        }
    }
}
