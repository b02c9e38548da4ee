// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A listener's unsent events: at most one of each kind. After each state the listener rests for a moment, so that a
/// burst of changes becomes one event.
struct PendingEvents: Hashable, Sendable {
    private var types: Set<String> = []
    private var state: SyncState?
    private var isPingDue = false
    private var isResting = false
    private var endReason: String?

    /// A state that arrives out of order adds its types but not its number.
    mutating func note(_ types: Set<String>, _ state: SyncState) {
        self.types.formUnion(types)
        self.state = self.state?.followed(by: state) ?? state
    }

    mutating func notePing() { isPingDue = true }

    mutating func noteEnd(_ reason: String) { endReason = endReason ?? reason }

    mutating func noteRested() { isResting = false }

    /// Returns the event to send now, if any. After a state event, the listener gets no event until `noteRested()`.
    mutating func take(account: String, pingSeconds: Int) -> ServerEvent? {
        if let endReason { return .sessionEnded(reason: endReason) }
        if isResting { return nil }
        defer { (types, state, isPingDue) = ([], nil, false) }
        guard let state else { return isPingDue ? .ping(seconds: pingSeconds) : nil }
        isResting = true
        return .state(account: account, types: types.sorted(), state)
    }
}

/// An event of the event source.
///
/// > Source: RFC 8620 §7.3; the `session` event is an extension.
enum ServerEvent: Hashable, Sendable {
    case state(account: String, types: [String], SyncState)
    case ping(seconds: Int)
    case sessionEnded(reason: String)

    /// In the HTML standard's event stream format.
    var text: String {
        switch self {
        case .state(let account, let types, let state):
            let changed = JSONObject(types.map { ($0, .string(state.description)) })
            let data: JSON = ["@type": "StateChange", "changed": [account: .object(changed)]]
            return "event: state\nid: \(state)\ndata: \(data)\n\n"
        case .ping(let seconds):
            return "event: ping\ndata: {\"interval\":\(seconds)}\n\n"
        case .sessionEnded(let reason):
            let data: JSON = ["reason": .string(reason)]
            return "event: session\ndata: \(data)\n\n"
        }
    }
}
