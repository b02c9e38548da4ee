// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// One account within a request, with the types that the request has changed.
struct Book {
    let snapshot: any AccountSnapshot
    private let transaction: (any AccountTransaction)?
    /// The state when the request began.
    let opening: SyncState
    private(set) var changedTypes: Set<String> = []
    /// The events that the request added to the audit of the space.
    private(set) var events: [SpaceEvent] = []

    /// For a request that only reads.
    init(_ snapshot: any AccountSnapshot) { self.init(snapshot, nil) }

    init(writing transaction: any AccountTransaction) { self.init(transaction, transaction) }

    private init(_ snapshot: any AccountSnapshot, _ transaction: (any AccountTransaction)?) {
        self.snapshot = snapshot
        self.transaction = transaction
        opening = Self.state(of: snapshot, hasEntered: false)
    }

    var account: String { snapshot.account }
    var state: SyncState { Self.state(of: snapshot, hasEntered: !changedTypes.isEmpty) }

    /// To a person with a ticket, a space looks new until the person has joined.
    private static func state(of snapshot: any AccountSnapshot, hasEntered: Bool) -> SyncState {
        let isHidden = !hasEntered && !snapshot.access.mayRead
        return SyncState(epoch: snapshot.epoch, seq: isHidden ? 0 : snapshot.seq)
    }

    /// - Throws: ``RequestProblem`` `pushRewound`, or the database's error.
    func notePush(_ number: Int64, device: String, day: Int) throws {
        if try transaction?.notePush(number, device: device, day: day) == false { throw RequestProblem.pushRewound }
    }

    /// - Throws: ``MethodError`` `serverFail` if the request was not opened for writing, or the database's error.
    mutating func append(_ changes: [RowChange], _ events: [SpaceEvent], day: Int) throws {
        guard let transaction else { throw MethodError("serverFail", "The request was not opened for writing.") }
        if !changes.isEmpty { _ = try transaction.append(changes, day: day) }
        if !events.isEmpty { self.events += try transaction.note(events) }
        changedTypes.formUnion(changes.map(\.key.type))
    }
}
