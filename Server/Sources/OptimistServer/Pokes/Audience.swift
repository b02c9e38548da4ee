// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The listeners of one account in this process, and which of them may hear of it.
///
/// A listener hears of a space while its person is a member. After each change of the members the space
/// is silent until the members have been read again. So a removed person hears of that change, and of none after it.
struct Audience {
    private struct Seat {
        let listener: Listener
        /// Nil: the members must be read.
        var isMember: Bool?
    }

    private let account: String
    private var seats: [ObjectIdentifier: Seat] = [:]
    /// The last change of the members.
    private var membersChangedAt: SyncState?
    /// The last state that this process has heard of.
    private(set) var told: SyncState?
    /// Whether the members are being read.
    private var isReading = false

    init(of account: String) { self.account = account }

    var listeners: [Listener] { seats.values.map(\.listener) }
    var isEmpty: Bool { seats.isEmpty }
    var isUnsure: Bool { seats.values.contains { $0.isMember == nil } }

    mutating func add(_ listener: Listener) {
        let seat = Seat(listener: listener, isMember: listener.account == account ? true : nil)
        if seats[ObjectIdentifier(listener)] == nil { seats[ObjectIdentifier(listener)] = seat }
    }

    mutating func remove(_ listener: Listener) { seats[ObjectIdentifier(listener)] = nil }

    /// Notes a change, and returns the listeners that hear of it.
    mutating func hear(_ state: SyncState, changesMembers: Bool) -> [Listener] {
        told = told?.followed(by: state) ?? state
        let hearing = seats.values.filter { $0.isMember == true }.map(\.listener)
        guard changesMembers else { return hearing }
        membersChangedAt = membersChangedAt?.followed(by: state) ?? state
        for (id, seat) in seats where seat.listener.account != account { seats[id]?.isMember = nil }
        return hearing
    }

    /// Notes which persons are members, as read at a state, and returns the listeners that hear from now on, with the
    /// state to send them. Does nothing if the members have changed since.
    ///
    /// - Parameter isMember: Returns nil for a person about whom nothing was read.
    mutating func learn(at state: SyncState, _ isMember: (String) -> Bool?) -> (listeners: [Listener], SyncState) {
        let present = told?.followed(by: state) ?? state
        if let changed = membersChangedAt, changed.epoch == state.epoch, changed.seq > state.seq {
            return ([], present)
        }
        var new: [Listener] = []
        for (id, seat) in seats {
            guard let isMember = isMember(seat.listener.account), isMember != seat.isMember else { continue }
            if isMember { new.append(seat.listener) }
            seats[id]?.isMember = isMember
        }
        return (new, present)
    }

    /// Notes that a person was not found to be a member, unless that is known better.
    mutating func learnNothing(about person: String) {
        for (id, seat) in seats where seat.listener.account == person && seat.isMember == nil {
            seats[id]?.isMember = false
        }
    }

    /// Returns whether the caller must read the members: they are unknown, and no other caller is reading them.
    mutating func beginReading() -> Bool {
        defer { isReading = isReading || isUnsure }
        return isUnsure && !isReading
    }

    /// Returns whether the members are known, or the caller gives up. Otherwise they must be read once more.
    mutating func endReading(givingUp: Bool) -> Bool {
        isReading = isUnsure && !givingUp
        return !isReading
    }
}
