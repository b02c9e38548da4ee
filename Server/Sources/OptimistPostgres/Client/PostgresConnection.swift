// This source file is part of the Optimist open source project, under the MIT licence.

import CLibPQ

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection to a PostgreSQL server, for one thread at a time.
///
/// Statements are prepared at their first use, and sent in libpq's pipeline mode. ``enqueue(_:_:)`` adds a statement to
/// libpq's buffer. ``query(_:_:)`` adds another, sends the buffer, and waits once for all answers. A transaction
/// therefore waits once for each query, for its commit, and for every 64 consecutive writes.
///
/// `@unchecked Sendable` is correct without a lock because each connection has one owner (a lane of the pool, the
/// listener or a command), which uses it on one thread at a time.
///
/// > Source: PostgreSQL, "libpq", "Pipeline Mode".
final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private var prepared: Set<String> = []
    /// Statements with unread answers, in order.
    private var sent: [Sent] = []
    /// The maximum number of unread answers. Beyond it, ``enqueue(_:_:)`` reads them first: if neither side read, both
    /// could wait forever.
    private static let maxSent = 64
    /// Called with the name of each statement. Tests compare the statements of requests.
    var trace: (@Sendable (String) -> Void)?
    /// How long to wait for data from the server, in milliseconds. A frozen server does not close its connections.
    private let patience: Int32

    fileprivate enum Sent {
        case preparation(String)
        case statement
    }

    /// - Parameter patience: How long to wait for data before the connection counts as lost, in seconds.
    /// - Throws: ``PostgresError`` `unreachable`, also if the URL is not valid.
    init(_ url: String, patience: Int32 = 30) throws(PostgresError) {
        self.patience = patience * 1000
        guard !DatabaseURL(url).hasBareCharacters else {
            throw PostgresError(
                .unreachable,
                """
                The user or the password in the URL has an unescaped character. Write @ as %40, / as \
                %2F and ? as %3F, or give the password in PGPASSWORD.
                """)
        }
        // Later settings override earlier ones: the URL overrides those before it, and `client_encoding` the URL.
        let settings: KeyValuePairs<String, String> = [
            "connect_timeout": "3", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
            "tcp_user_timeout": "20000", "target_session_attrs": "read-write", "fallback_application_name": "optimist",
            "dbname": url, "client_encoding": "UTF8",
        ]
        let names = CStrings(settings.map(\.key))
        let values = CStrings(settings.map(\.value))
        let made = withExtendedLifetime((names, values)) { PQconnectdbParams(names.pointers, values.pointers, 1) }
        guard let made else { throw PostgresError(.unreachable, "There is not enough memory for a connection.") }
        connection = made
        guard PQstatus(connection) == CONNECTION_OK, PQsetnonblocking(connection, 1) == 0,
            PQenterPipelineMode(connection) == 1
        else { throw PostgresError(.unreachable, Self.message(of: connection)) }
        PQsetNoticeReceiver(
            connection,
            { notices, _ in
                if let notices { Unmanaged<Notices>.fromOpaque(notices).takeUnretainedValue().count += 1 }
            }, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit { PQfinish(connection) }

    fileprivate final class Notices { var count = 0 }
    fileprivate let notices = Notices()

    private static func message(of connection: OpaquePointer) -> String {
        PQerrorMessage(connection).map { String(cString: $0) }?.trimmed ?? ""
    }

    /// The server's process id for this connection, as reported when it was opened. A pooler makes one up.
    var processID: Int { Int(PQbackendPID(connection)) }

    // MARK: - Statements

    /// Adds a statement, which is sent with the next query at the latest.
    ///
    /// It does not wait unless 64 answers are unread. If the statement fails, a later call throws: ``query(_:_:)``,
    /// ``flush()``, or another `enqueue` that has to read answers.
    func enqueue(_ statement: any PostgresStatement, _ values: [PostgresValue] = []) throws(PostgresError) {
        if sent.count >= Self.maxSent { _ = try answers(keepsLast: false) }
        try send(statement, values)
    }

    /// Runs the enqueued statements and then this one, and returns its answer.
    ///
    /// - Throws: ``PostgresError`` of the first statement that failed. The server skips those after it.
    func query(_ statement: any PostgresStatement, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresRows
    {
        try send(statement, values)
        guard let rows = try answers(keepsLast: true) else {
            throw PostgresError(.lost, "The server did not answer.")
        }
        return rows
    }

    /// Runs the enqueued statements.
    ///
    /// - Throws: See ``query(_:_:)``.
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
        trace?(statement.name)
    }

    private func check(_ code: Int32) throws(PostgresError) {
        if code != 1 { throw PostgresError(.lost, Self.message(of: connection)) }
    }

    /// Reads the answers to all statements in ``sent``, then throws the first failure. Returns the last answer if
    /// requested.
    private func answers(keepsLast: Bool) throws(PostgresError) -> PostgresRows? {
        try check(PQpipelineSync(connection))
        try sendAll()
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

    private func sendAll() throws(PostgresError) {
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1: try wait(for: POLLIN | POLLOUT)
            default: throw PostgresError(.lost, Self.message(of: connection))
            }
        }
    }

    /// Returns the next result, or nil at the end of an answer.
    private func nextResult() throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 { try wait(for: POLLIN) }
        return PQgetResult(connection)
    }

    /// Waits until the server has sent or accepted data.
    ///
    /// - Throws: ``PostgresError`` `slow` after ``patience``, or `lost`.
    private func wait<Events: BinaryInteger>(for events: Events) throws(PostgresError) {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
        let ready = poll(&descriptor, 1, patience)
        if ready < 0, errno == EINTR { return }
        if ready == 0 { throw PostgresError(.slow, "The server did not answer in time.") }
        if descriptor.revents & Int16(POLLIN) != 0 || descriptor.revents & Int16(POLLHUP) != 0 || ready < 0 {
            guard PQconsumeInput(connection) == 1 else { throw PostgresError(.lost, Self.message(of: connection)) }
        }
    }

    private static func failure(_ result: OpaquePointer) -> PostgresError {
        let message = PQresultErrorMessage(result).map { String(cString: $0) }?.trimmed ?? ""
        // An error without a SQLSTATE is from libpq itself: the connection is lost.
        guard let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))) else {
            return PostgresError(.lost, message)
        }
        return PostgresError(.refused(String(cString: state)), message)
    }

    // MARK: - Scripts and notifications

    /// Runs statements without parameters, and discards their answers.
    func script(_ sql: String) throws(PostgresError) {
        try flush()
        guard PQexitPipelineMode(connection) == 1 else { throw PostgresError(.lost, Self.message(of: connection)) }
        defer { PQenterPipelineMode(connection) }
        try check(PQsendQuery(connection, sql))
        try sendAll()
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

    /// Returns the payloads of received notifications, after waiting for data if none has arrived.
    ///
    /// - Throws: ``PostgresError`` `lost`.
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
    /// - Throws: The error of `work`, or ``PostgresError``. The transaction is not committed, except possibly after
    ///   `commitUnknown`.
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
            // The enqueued statements are in libpq's buffer and cannot be withdrawn, so read their answers first.
            try? flush()
            try enqueue(TransactionStatement.rollback)
            try flush()
            throw error
        }
    }

    private func commit() throws(PostgresError) {
        let warnings = notices.count
        let answer: PostgresRows
        do { answer = try query(TransactionStatement.commit) } catch {
            if error.kind == .lost || error.kind == .slow { throw PostgresError(.commitUnknown, error.message) }
            throw error
        }
        // The server answers ROLLBACK to the commit of a failed transaction.
        if answer.command != "COMMIT" { throw PostgresError(.lost, "The transaction was rolled back.") }
        // An operator may cancel the wait for a synchronous standby. The answer is then COMMIT with a warning, and the
        // standby may lack the transaction.
        if notices.count != warnings { throw PostgresError(.commitUnknown, "The commit succeeded with a warning.") }
    }
}

extension PostgresConnection.Sent {
    fileprivate func prepares(_ name: String) -> Bool {
        if case .preparation(let prepared) = self { prepared == name } else { false }
    }
}

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
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last?.isNewline == true { text.removeLast() }
        return String(text)
    }
}
