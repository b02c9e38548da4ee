// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer
@_spi(Internals) import OptimistServing

extension PostgresAccount {
    /// Removes an account that was made for a space, but not founded.
    func giveUp() throws {
        try connection.enqueue(RowStatement.dropPushes, [.text(account)])
        try connection.enqueue(RowStatement.drop, [.text(account)])
        try connection.enqueue(
            SharedStatement.dropAddress, [.text(PostgresAccountStore.spaceAddress(of: account)), .text(account)])
    }

    func members() throws -> [Membership] {
        let rows = try connection.query(RowStatement.members, [.text(account)])
        try meter?.step(count: 1 + rows.count)
        return (0..<rows.count).map { row in
            Membership(
                person: rows.text(row, 0), memberID: rows.text(row, 1), role: rows.text(row, 2),
                joinedSeq: rows.int64(row, 3), endedSeq: nil, reason: nil)
        }
    }

    func note(_ change: MembershipChange) throws {
        if let reason = change.end {
            try connection.enqueue(
                RowStatement.endMembership,
                [
                    .text(account), .text(change.person), .int(seq), .text(reason.rawValue), .text(change.memberID),
                ])
        } else {
            try connection.enqueue(
                RowStatement.join,
                [
                    .text(account), .text(change.person), .text(change.memberID), .text(change.role.rawValue),
                    .int(seq),
                ])
        }
        access.follow(change, as: reader, seq: seq)
    }
}

extension PostgresAccount {
    func note(_ events: [SpaceEvent]) throws -> [SpaceEvent] {
        let latest = try AuditedEvent.latest(SpaceEvent.compared, of: account, connection)
        try meter?.step(count: latest.count)
        return try AuditedEvent.new(events, at: seq, after: latest).map { audited in
            try meter?.step()
            try connection.enqueue(RowStatement.addEvent, audited.values(of: account))
            return audited.event
        }
    }
}

extension AuditedEvent {
    func values(of account: String) -> [PostgresValue] {
        [
            .text(account), .int(place.seq), .int(place.ordinal), .int(event.milliseconds), .text(event.what),
            .text(event.person), .text(event.device), .text(event.subject), .text(event.detail),
        ]
    }

    /// The latest events of a space, newest first.
    static func latest(
        _ limit: Int, of space: String, before place: LogPosition? = nil, _ connection: PostgresConnection
    ) throws -> [AuditedEvent] {
        let place = place ?? LogPosition(seq: .max, ordinal: .max)
        let rows = try connection.query(
            AccountStatement.events, [.text(space), .int(place.seq), .int(place.ordinal), .int(limit)])
        return (0..<rows.count).map { AuditedEvent(rows, $0) }
    }

    /// Reads the seq, the ordinal and the event's columns.
    init(_ rows: PostgresRows, _ row: Int) {
        self.init(
            place: LogPosition(seq: rows.int64(row, 0), ordinal: rows.int(row, 1)),
            event: SpaceEvent(
                what: rows.text(row, 2), person: rows.textIfAny(row, 3), device: rows.textIfAny(row, 4),
                subject: rows.textIfAny(row, 5), detail: rows.textIfAny(row, 6), milliseconds: rows.int64(row, 7)))
    }
}

extension Membership {
    /// The reader's membership in an account other than the own one, if there ever was one. Also in a deleted space.
    ///
    /// - Parameter rows: The account as it was read, with the membership. Nil reads the membership separately: a
    ///   statement that waited for a lock reads other tables as they were before the wait.
    static func of(
        _ reader: Reader, in account: String, _ rows: PostgresRows?, _ connection: PostgresConnection
    ) throws -> Membership? {
        guard let person = reader.person, person != account else { return nil }
        if let rows, rows.count == 1 { return Membership(of: person, rows, from: 7) }
        let locked = try connection.query(RowStatement.membership, [.text(account), .text(person)])
        return locked.count == 1 ? Membership(of: person, locked, from: 0) : nil
    }

    /// Nil if the columns are null, because the person was never a member.
    init?(of person: String, _ rows: PostgresRows, _ row: Int = 0, from column: Int) {
        guard let memberID = rows.textIfAny(row, column) else { return nil }
        self.init(
            person: person, memberID: memberID, role: rows.text(row, column + 1),
            joinedSeq: rows.int64(row, column + 2), endedSeq: rows.intIfAny(row, column + 3).map(Int64.init),
            reason: rows.textIfAny(row, column + 4))
    }
}
