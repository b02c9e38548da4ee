// This source file is part of the Optimist open source project, under the MIT licence.

import CLibPQ

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to a PostgreSQL server, for one thread at a time.
///
/// Statements are prepared at their first use and go out in libpq's pipeline mode: ``enqueue(_:_:)`` sends nothing yet, and
/// ``query(_:_:)`` sends what waits together with its own statement, and waits once for all answers. So a transaction costs as
/// many round trips as it asks questions, and one for its commit.
///
/// It may be handed from one thread to another, and nothing in it is guarded: each connection has one owner, a lane of the pool,
/// the listener or a command, and the owner uses it on one thread at a time. That is why `@unchecked Sendable` is true.
///
/// > Source: PostgreSQL, "libpq", "Pipeline Mode".
final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private var prepared: Set<String> = []
    /// What was sent since the last answer was read, in order.
    private var sent: [Sent] = []
    /// How many answers the server may owe. Past that they are read, so that neither side waits for the other to read.
    private static let maxSent = 64
    /// How long the server may take to answer, in milliseconds. A server that is frozen closes no connection.
    private let patience: Int32

    fileprivate enum Sent {
        case preparation(String)
        case statement
    }

    /// Connects.
    ///
    /// - Parameters:
    ///   - url: A connection URL or string of libpq's.
    ///   - patience: How long the server may take to answer, in seconds.
    /// - Throws: ``PostgresError``, `unreachable`.
    init(_ url: String, patience: Int32 = 30) throws(PostgresError) {
        self.patience = patience * 1000
        // What the URL says comes later, and so it wins.
        let settings: KeyValuePairs<String, String> = [
            "connect_timeout": "3", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
            "tcp_user_timeout": "20000", "target_session_attrs": "read-write", "fallback_application_name": "optimist",
            "dbname": url, "client_encoding": "UTF8",
        ]
        let names = CStrings(settings.map(\.key))
        let values = CStrings(settings.map(\.value))
        let made = withExtendedLifetime((names, values)) { PQconnectdbParams(names.pointers, values.pointers, 1) }
        guard let made else { throw PostgresError(.unreachable, "There is no memory for a connection.") }
        connection = made
        guard PQstatus(connection) == CONNECTION_OK, PQenterPipelineMode(connection) == 1 else {
            throw PostgresError(.unreachable, Self.message(of: connection))
        }
    }

    deinit { PQfinish(connection) }

    private static func message(of connection: OpaquePointer) -> String {
        PQerrorMessage(connection).map { String(cString: $0) }?.trimmed ?? ""
    }

    /// What the server reports of itself, such as `server_encoding`.
    func parameter(_ name: String) -> String? { PQparameterStatus(connection, name).map { String(cString: $0) } }

    /// The process that the server says answers this connection. A pooler makes one up.
    var processID: Int { Int(PQbackendPID(connection)) }

    var socket: Int32 { PQsocket(connection) }

    // MARK: - Statements

    /// Sends a statement together with the next question, and does not wait. If it fails, that question or ``flush()`` throws.
    func enqueue(_ statement: any PostgresStatement, _ values: [PostgresValue] = []) throws(PostgresError) {
        if sent.count >= Self.maxSent { _ = try answers(keepsLast: false) }
        try send(statement, values)
    }

    /// Carries out a statement, and everything that was enqueued before it.
    func query(_ statement: any PostgresStatement, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresRows
    {
        try send(statement, values)
        guard let rows = try answers(keepsLast: true) else {
            throw PostgresError(.lost, "The server gave no answer.")
        }
        return rows
    }

    /// Carries out everything that was enqueued.
    func flush() throws(PostgresError) { if !sent.isEmpty { _ = try answers(keepsLast: false) } }

    private func send(_ statement: any PostgresStatement, _ values: [PostgresValue]) throws(PostgresError) {
        let isNew = !prepared.contains(statement.name) && !sent.contains { $0.prepares(statement.name) }
        if isNew {
            try check(PQsendPrepare(connection, statement.name, statement.sql, 0, nil))
            sent.append(.preparation(statement.name))
        }
        let code = PostgresParameters(values).withLibPQ { count, values, lengths, formats in
            PQsendQueryPrepared(connection, statement.name, count, values, lengths, formats, 0)
        }
        try check(code)
        sent.append(.statement)
    }

    private func check(_ code: Int32) throws(PostgresError) {
        if code != 1 { throw PostgresError(.lost, Self.message(of: connection)) }
    }

    /// Reads the answers to everything that was sent. The first failure is thrown, once all of them are read.
    private func answers(keepsLast: Bool) throws(PostgresError) -> PostgresRows? {
        try check(PQpipelineSync(connection))
        var failure: PostgresError?
        var last: PostgresRows?
        for (index, expected) in sent.enumerated() {
            guard let result = try nextResult() else { continue }
            let rows = PostgresRows(result)
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                if case .preparation(let name) = expected { prepared.insert(name) }
                if keepsLast, index == sent.count - 1 { last = rows }
            case PGRES_PIPELINE_ABORTED: break
            default: failure = failure ?? Self.failure(result)
            }
            // Each answer ends with an empty result.
            while let more = try nextResult() { PQclear(more) }
        }
        sent = []
        if let result = try nextResult() { PQclear(result) }
        if let failure { throw failure }
        return last
    }

    /// Waits for the next result as long as the patience goes.
    private func nextResult() throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptor, 1, patience)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0, PQconsumeInput(connection) == 1 else {
                let why = ready == 0 ? "The server did not answer in time." : Self.message(of: connection)
                throw PostgresError(.lost, why)
            }
        }
        return PQgetResult(connection)
    }

    private static func failure(_ result: OpaquePointer) -> PostgresError {
        let message = PQresultErrorMessage(result).map { String(cString: $0) }?.trimmed ?? ""
        // Without a state the error is libpq's own: the connection is gone.
        guard let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))) else {
            return PostgresError(.lost, message)
        }
        return PostgresError(.refused(String(cString: state)), message)
    }

    // MARK: - Scripts and notifications

    /// Runs statements that have no parameters and no answer, such as those that make tables.
    func script(_ sql: String) throws(PostgresError) {
        try flush()
        guard PQexitPipelineMode(connection) == 1 else { throw PostgresError(.lost, Self.message(of: connection)) }
        defer { PQenterPipelineMode(connection) }
        try check(PQsendQuery(connection, sql))
        var failure: PostgresError?
        while let result = try nextResult() {
            defer { PQclear(result) }
            let status = PQresultStatus(result)
            if status != PGRES_COMMAND_OK, status != PGRES_TUPLES_OK, status != PGRES_EMPTY_QUERY {
                failure = failure ?? Self.failure(result)
            }
        }
        if let failure { throw failure }
    }

    /// Returns the payloads of the notifications that have come.
    ///
    /// - Parameter milliseconds: How long to wait if none has come.
    /// - Throws: ``PostgresError``, `lost`.
    func notifications(within milliseconds: Int32) throws(PostgresError) -> [String] {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, milliseconds)
        guard PQconsumeInput(connection) == 1 else { throw PostgresError(.lost, Self.message(of: connection)) }
        var payloads: [String] = []
        while let notification = PQnotifies(connection) {
            payloads.append(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        return payloads
    }
}

extension PostgresConnection {
    /// Runs `work` in a transaction.
    ///
    /// - Throws: What `work` throws, and then nothing is kept, or ``PostgresError``.
    func transaction<Value>(
        _ begin: TransactionStatement = .begin, _ work: (PostgresConnection) throws -> Value
    ) throws -> Value {
        do {
            try enqueue(begin)
            let value = try work(self)
            try commit()
            return value
        } catch let error as PostgresError where error.endsConnection {
            throw error
        } catch {
            // What was enqueued and not sent need not be sent first, but it has been written to the connection already.
            try? flush()
            try enqueue(TransactionStatement.rollback)
            try flush()
            throw error
        }
    }

    private func commit() throws(PostgresError) {
        let answer: PostgresRows
        do { answer = try query(TransactionStatement.commit) } catch {
            if error.kind == .lost { throw PostgresError(.commitUnknown, error.message) }
            throw error
        }
        // The server answers ROLLBACK to the commit of a transaction in which something failed.
        if answer.command != "COMMIT" { throw PostgresError(.lost, "The transaction was not made.") }
    }
}

extension PostgresConnection.Sent {
    fileprivate func prepares(_ name: String) -> Bool {
        if case .preparation(let prepared) = self { prepared == name } else { false }
    }
}

/// Texts as C has them: a list of pointers that ends with a null one.
private final class CStrings {
    let pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>
    private let count: Int

    init(_ texts: [String]) {
        count = texts.count
        pointers = .allocate(capacity: count + 1)
        for (index, text) in texts.enumerated() { pointers[index] = strdup(text).map { UnsafePointer($0) } }
        pointers[count] = nil
    }

    deinit {
        for index in 0..<count { free(UnsafeMutablePointer(mutating: pointers[index])) }
        pointers.deallocate()
    }
}

extension String {
    /// Without the line break at its end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
    }
}
