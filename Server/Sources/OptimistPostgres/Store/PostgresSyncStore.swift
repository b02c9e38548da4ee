// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// The rows of the accounts, in a PostgreSQL database that any number of processes share.
///
/// The account's lock is the lock of its row. Seqs are assigned under it, so a later seq never commits first. Closures
/// passed to ``read(accounts:as:entering:_:)`` and ``write(accounts:as:entering:_:)`` may run more than once: see
/// ``PostgresPool/run(of:_:)``.
struct PostgresSyncStore: SyncStore {
    let pool: PostgresPool
    let known: DatabaseEpochs
    let schema: Schema
    /// Whether everything runs on the caller's thread, so that a simulation controls the order. Default: false.
    var isSynchronous = false
    let reads: ReadTurns

    init(pool: PostgresPool, known: DatabaseEpochs, schema: Schema, isSynchronous: Bool = false) {
        self.pool = pool
        self.known = known
        self.schema = schema
        self.isSynchronous = isSynchronous
        reads = ReadTurns(connections: pool.size)
    }

    var epoch: String { known.present }

    func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        let read: @Sendable (PostgresConnection) throws -> Answer? = { connection in
            try connection.transaction(.beginSnapshot) { connection in
                let opened = try open(accounts, as: reader, entering: entrances, .read, connection)
                guard try opened.open.values.allSatisfy({ try $0.isConverted(to: schema) }) else { return nil }
                return try work(opened.mapped { $0 })
            }
        }
        let answer = isSynchronous ? try runNow(read) : try await reads.run(of: reader) { try await pool.run(read) }
        if let answer { return answer }
        // An account must first be converted to the current schema, which takes a write.
        var joining = entrances
        joining.founding = []
        return try await write(accounts: accounts, as: reader, entering: joining) { try work($0.mapped { $0 }) }
    }

    func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        try await run(of: reader.turn) { connection in
            try connection.transaction { connection in
                let opened = try open(accounts, as: reader, entering: entrances, .lock, connection)
                for account in opened.open.values { try account.convert(to: schema) }
                let answer = try work(opened.mapped { $0 })
                for account in opened.open.values where account.isUnfounded { try account.giveUp() }
                return answer
            }
        }
    }

    /// Opens accounts one by one, in the order of their ids, so that writers never wait for each other in a circle.
    private func open(
        _ accounts: Set<String>, as reader: Reader, entering entrances: Entrances, _ statement: RowStatement,
        _ connection: PostgresConnection
    ) throws -> OpenAccounts<PostgresAccount> {
        var opened = OpenAccounts<PostgresAccount>()
        if !entrances.isEmpty { opened.spaces = try reader.person.map { try spaces(of: $0, connection) } }
        for id in accounts.sorted() {
            if statement == .lock, entrances.tickets[id] != nil {
                // A ticket that is not valid locks nothing, so a stranger waits for no writer of the space.
                let seen = try find(id, as: reader, entering: entrances, .read, connection)
                if seen.access == nil {
                    opened.ended[id] = seen.membership?.end
                    continue
                }
            }
            let found = try find(id, as: reader, entering: entrances, statement, connection)
            opened.ended[id] = found.membership?.end
            if found.isThere {
                if let access = found.access {
                    opened.open[id] = try PostgresAccount(
                        connection, id, as: reader, access, found.rows, epochs: known)
                }
            } else if statement == .lock, entrances.founding.contains(id),
                try self.found(id, entrances.kind, connection)
            {
                let made = try connection.query(RowStatement.read, values(id, for: .operator, entering: .none))
                opened.open[id] = try PostgresAccount(connection, id, as: reader, .founding, made, epochs: known)
            }
        }
        return opened
    }

    /// An account that a reader asked for, and the reader's right to it.
    private struct Found {
        var rows: PostgresRows
        var membership: Membership?
        var access: Access?

        var isThere: Bool { rows.count == 1 }
    }

    /// Reads or locks an account. A missing account takes the same statements as an account that the reader may not
    /// open.
    private func find(
        _ id: String, as reader: Reader, entering entrances: Entrances, _ statement: RowStatement,
        _ connection: PostgresConnection
    ) throws -> Found {
        let rows = try connection.query(statement, values(id, for: reader, entering: entrances))
        // With a ticket, the membership is read separately whether or not the account was found.
        let isComplete = statement == .read && entrances.tickets[id] == nil
        let membership = try Membership.of(reader, in: id, isComplete ? rows : nil, connection)
        var found = Found(rows: rows, membership: membership)
        found.access = try entrances.access(
            of: reader, to: id, membership, found.isThere ? AccountKind(text: rows.text(0, 12)) : .space,
            found.isThere
                ? PostgresAccount(connection, id, as: reader, .operator, rows, epochs: known)
                : PostgresAccount(missing: id, connection, as: reader))
        return found
    }

    private func values(_ account: String, for reader: Reader, entering entrances: Entrances) -> [PostgresValue] {
        let tickets = entrances.tickets[account]?.map(\.text.shortKey) ?? []
        return [
            .text(account), .text(reader.key), .text(entrances.type), .text(Entrances.index.name), .texts(tickets),
        ]
    }

    private func spaces(of person: String, _ connection: PostgresConnection) throws -> SpaceCount {
        let rows = try connection.query(SpanningStatement.spaceCount, [.text(person)])
        return SpaceCount(all: rows.int(0, 0), owned: rows.int(0, 1))
    }

    /// Makes the account of a space, locked. False if an account has this id, or if a deleted space had it.
    private func found(
        _ account: String, _ kind: AccountKind, _ connection: PostgresConnection
    ) throws -> Bool {
        if try connection.query(SharedStatement.isDeleted, [.text(account)]).bool(0, 0) { return false }
        let values: [PostgresValue] = [
            .text(account), .text(Date().utcText), .int(schema.version), .text(kind.rawValue),
        ]
        guard try connection.query(RowStatement.found, values).changedCount == 1 else { return false }
        try connection.enqueue(
            SharedStatement.addAddress, [.text(PostgresAccountStore.spaceAddress(of: account)), .text(account)])
        return true
    }

    func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        let read: @Sendable (PostgresConnection) throws -> OpenAccounts<AccountState> = { connection in
            let rows = try connection.query(
                SpanningStatement.states, [.texts(accounts.filter(\.isStorable).sorted()), .text(reader.key)])
            var states = OpenAccounts<AccountState>()
            for row in 0..<rows.count {
                let epoch = try known.names(upTo: rows.int64(row, 2), connection).last ?? ""
                let membership = reader.person.flatMap { Membership(of: $0, rows, row, from: 3) }
                states.add(
                    SyncState(epoch: epoch, seq: rows.int64(row, 1)), of: rows.text(row, 0), for: reader, membership,
                    AccountKind(text: rows.text(row, 8)))
            }
            let missing = accounts.filter {
                SpaceAccount.space(of: $0) != nil && states.open[$0] == nil && states.ended[$0] == nil
            }
            if let person = reader.person, !missing.isEmpty {
                let endings = try connection.query(
                    SpanningStatement.endings, [.texts(missing.sorted()), .text(person)])
                for row in 0..<endings.count {
                    states.ended[endings.text(row, 0)] = Membership(of: person, endings, row, from: 1)?.end
                }
            }
            return states
        }
        return isSynchronous ? try runNow(read) : try await reads.run(of: reader) { try await pool.run(read) }
    }

    func accounts(after id: String?, limit: Int) async throws -> [String] {
        try await run(of: nil) { connection in
            let rows = try connection.query(SharedStatement.accountIDs, [.text(id ?? ""), .int(limit)])
            return (0..<rows.count).map { rows.text($0, 0) }
        }
    }

    private func run<Value: Sendable>(
        of owner: String?, _ work: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        isSynchronous ? try runNow(work) : try await pool.run(of: owner, work)
    }

    /// The name differs because an async function would prefer an async `run`.
    private func runNow<Value>(_ work: (PostgresConnection) throws -> Value) throws -> Value { try pool.runNow(work) }
}
