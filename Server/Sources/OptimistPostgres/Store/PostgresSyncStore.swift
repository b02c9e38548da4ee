// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer
@_spi(Internals) import OptimistServing
import OptimistWire

/// The rows of the accounts, in a PostgreSQL database that any number of processes share.
///
/// The account's lock is the lock of its row. Seqs are assigned under it, so a later seq never commits first. Closures
/// passed to ``read(accounts:as:_:)`` and ``write(accounts:as:_:)`` may run more than once: see
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
        accounts: Set<String>, as reader: Reader,
        _ work: @escaping @Sendable ([String: any AccountSnapshot]) throws -> Answer
    ) async throws -> Answer {
        let read: @Sendable (PostgresConnection) throws -> Answer? = { connection in
            try connection.transaction(.beginSnapshot) { connection in
                let open = try open(accounts, as: reader, .read, connection)
                return try open.values.allSatisfy { try $0.isConverted(to: schema) } ? work(open) : nil
            }
        }
        let answer = isSynchronous ? try runNow(read) : try await reads.run(of: reader) { try await pool.run(read) }
        if let answer { return answer }
        // An account must first be converted to the current schema, which takes a write.
        return try await write(accounts: accounts, as: reader) { try work($0) }
    }

    func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader,
        _ work: @escaping @Sendable ([String: any AccountTransaction]) throws -> Answer
    ) async throws -> Answer {
        try await run(of: reader.turn) { connection in
            try connection.transaction { connection in
                let open = try open(accounts, as: reader, .lock, connection)
                for account in open.values { try account.convert(to: schema) }
                return try work(open)
            }
        }
    }

    /// Opens accounts one by one, in the order of their ids, so that writers never wait for each other in a circle.
    private func open(
        _ accounts: Set<String>, as reader: Reader, _ statement: RowStatement, _ connection: PostgresConnection
    ) throws -> [String: PostgresAccount] {
        var open: [String: PostgresAccount] = [:]
        for id in accounts.sorted() {
            open[id] = try PostgresAccount(connection, account: id, as: reader, by: statement, epochs: known)
        }
        return open
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
