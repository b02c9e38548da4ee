// This source file is part of the Optimist open source project, under the MIT licence.

import AsyncHTTPClient
import Foundation
import GRDB
import Logging
import NIOCore
import NIOHTTP1
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// A server with its own directory and a clock that the test controls.
final class Site: Sendable {
    let directory: URL
    /// Nil if the data is in the directory.
    let database: PostgresDatabase?
    let clock = ManualClock()
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    private let passed = Mutex(Duration.zero)

    init() {
        directory = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        do { database = SharedDatabase.isUsed ? try SharedDatabase.make() : nil } catch {
            Issue.record(error, "The database gives the test no place.")
            database = nil
        }
    }

    private var storage: ServerStorage {
        get throws {
            guard let database else { return .directory(directory) }
            return .postgres(database, secret: try ServerKeys(secret: SharedDatabase.secret))
        }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Creates the directory as the server does, for a test that puts a file there first.
    func makeDirectory() throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    var file: URL { directory.appending(path: "optimist.sqlite") }

    /// Waits until the housekeeping, which writes when the server starts, has finished and sleeps.
    func untilHousekeepingRests() async { await sleepers(atLeast: 0) }

    /// Waits until `count` tasks sleep in addition to the server's housekeeping.
    func sleepers(atLeast count: Int) async { await clock.sleepers(atLeast: count + 1) }

    /// Keeps the writer of a running server busy until the semaphore is signalled.
    func holdWriter(of server: OptimistServer) async throws -> DispatchSemaphore {
        await untilHousekeepingRests()
        return try await server.database.pool.hold()
    }

    /// Lets time pass, and sets the clock accordingly.
    func advance(by seconds: Double) {
        leap(by: seconds)
        passed.withLock { $0 += .seconds(seconds) }
    }

    /// Sets the clock without letting time pass.
    func leap(by seconds: Double) { time.withLock { $0 += seconds } }

    /// The clock's time.
    var now: Date { time.withLock(\.self) }

    /// The number of an account's rows in a table.
    func count(of table: String, account: String) async throws -> Int {
        let sql = "SELECT count(*) FROM \(table) WHERE account_id ="
        if let database {
            let connection = try PostgresConnection(database.url)
            return try connection.query(SharedDatabase.Statement(sql: "\(sql) $1"), [.text(account)]).int(0, 0)
        }
        return try await DatabaseQueue(path: file.path).read {
            try Int.fetchOne($0, sql: "\(sql) ?", arguments: [account]) ?? 0
        }
    }

    /// Opens the server without listening.
    ///
    /// - Parameter waits: Whether to wait until the previous server, which the test has released, has closed its data.
    func open(
        schema: Schema = .planner, waits: Bool = true, change: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> OptimistServer {
        var configuration = ServerConfiguration(
            port: 0, storage: try storage, schema: schema,
            dependencies: Dependencies(clock: clock, now: { [self] in time.withLock(\.self) }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        configuration.passwordCost = .trivial
        configuration.elapsed = { [self] in passed.withLock(\.self) }
        // Tests run in parallel, so their time does not show the cost of a request.
        configuration.workBudget = .unlimited
        if database != nil {
            let hour = Duration.seconds(3600)
            configuration.attemptIntervals = AttemptIntervals(address: hour, account: hour, reset: hour, health: hour)
        }
        change(&configuration)
        let end = ContinuousClock.now + .seconds(300)
        while true {
            do { return try await OptimistServer(configuration: configuration) } catch let error as OptimistError {
                guard waits, error.code == .dataInUse, ContinuousClock.now < end else { throw error }
                await Task.yield()
            }
        }
    }

    /// Runs the server on a free port during `body`.
    func serving<Value: Sendable>(
        schema: Schema = .planner, change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (OptimistServer, HTTPSide) async throws -> Value
    ) async throws -> Value {
        let server = try await open(schema: schema, change: change)
        let running = Task { try await server.run() }
        let side = HTTPSide(base: "http://127.0.0.1:\(try await server.port)")
        let result: Result<Value, any Error>
        do { result = .success(try await body(server, side)) } catch { result = .failure(error) }
        await server.shutdown()
        try await running.value
        return try result.get()
    }
}

/// A user who has signed up.
struct Person: Sendable {
    var account: String
    var access: String
    var refresh: String

    init(_ grant: JSON) throws {
        account = try #require(grant["account_id"]?.string)
        access = try #require(grant["access_token"]?.string)
        refresh = try #require(grant["refresh_token"]?.string)
    }
}

extension OptimistServer {
    /// Signs a user up, without HTTP.
    func signUp(_ email: String = "a@example.org", device: String = "phone") async throws -> Person {
        let entry = try Accounts.Entry(json: .entry(email, device: device))
        return try Person(await registry.signUp(entry, from: Caller(address: "test")))
    }

    /// Answers calls, without HTTP.
    func call(
        _ person: Person, _ calls: [(String, JSON)], push: Int64? = nil, device: String = "deviceAA",
        groups: [[String]] = [], schemaVersion: Int? = nil
    ) async throws -> [Invocation] {
        let invocations = calls.enumerated().map { index, call in
            var arguments = call.1.object ?? [:]
            if arguments["accountId"] == nil { arguments.append("accountId", .string(person.account)) }
            return Invocation(call.0, arguments, callID: "\(index)")
        }
        let request = Request(
            methodCalls: invocations, device: push == nil ? nil : device, push: push, schemaVersion: schemaVersion,
            groups: groups)
        let answer = try await routes.answer(request.json.bytes, of: person.account)
        return try #require(Response(json: JSON(parsing: answer))).methodResponses
    }

    /// Answers one call, and returns the answer's arguments.
    func call(_ person: Person, _ name: String, _ arguments: JSON, push: Int64? = nil) async throws -> JSONObject {
        try await call(person, [(name, arguments)], push: push)[0].arguments
    }
}

extension JSON {
    static func entry(_ email: String, password: String = "correct horse", device: String = "phone") -> JSON {
        ["email": .string(email), "password": .string(password), "device": ["id": .string(device), "name": "Phone"]]
    }
}

extension Invocation {
    /// The type of a method-level error.
    var error: String? { name == "error" ? arguments["type"]?.string : nil }
}

/// The server as a stranger sees it.
struct HTTPSide: Sendable {
    let base: String

    /// Only against hangs: even connecting takes long on a busy machine.
    static let patience = TimeAmount.minutes(5)
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.timeout = HTTPClient.Configuration.Timeout(connect: patience)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    struct Answer: Sendable {
        var status: Int
        var headers: Headers
        var body: [UInt8]
        var json: JSON { (try? JSON(parsing: body)) ?? .null }
    }

    /// The values of a header by its lower-case name.
    struct Headers: Sendable {
        var fields: [String: [String]]
        subscript(name: String) -> [String] { fields[name, default: []] }
    }

    func get(_ path: String, token: String? = nil, headers: [String: String] = [:]) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return try await send(request, token: token)
    }

    func post(
        _ path: String, _ body: some Sequence<UInt8> & Sendable, token: String? = nil, forwardedFor: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        if let forwardedFor { request.headers.add(name: "x-forwarded-for", value: forwardedFor) }
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: body))
        return try await send(request, token: token)
    }

    func post(
        _ path: String, _ json: JSON, token: String? = nil, forwardedFor: String? = nil
    ) async throws -> Answer {
        try await post(path, json.bytes, token: token, forwardedFor: forwardedFor)
    }

    func send(_ method: String, _ path: String, token: String? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.method = .init(rawValue: method)
        return try await send(request, token: token)
    }

    func form(_ path: String, _ fields: String) async throws -> Answer { try await post(path, Array(fields.utf8)) }

    func signUp(_ email: String = "a@example.org", device: String = "phone") async throws -> Person {
        try Person(await post("/auth/sign-up", JSON.entry(email, device: device)).json)
    }

    func send(
        _ method: String, _ path: String, token: String? = nil, headers: [String: String] = [:], body: [UInt8]? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        return try await send(request, token: token)
    }

    private func send(_ request: HTTPClientRequest, token: String?) async throws -> Answer {
        var request = request
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        let response = try await Self.client.execute(request, timeout: Self.patience)
        let body = try await response.body.collect(upTo: 100_000_000)
        expectDocumented(request, Int(response.status.code))
        let fields = Dictionary(response.headers.map { ($0.name.lowercased(), [$0.value]) }, uniquingKeysWith: +)
        return Answer(
            status: Int(response.status.code), headers: Headers(fields: fields), body: Array(body.readableBytesView))
    }

    /// Expects that the OpenAPI document lists this status if the route is the server's (O5).
    private func expectDocumented(_ request: HTTPClientRequest, _ status: Int) {
        let method = request.method == .HEAD ? "GET" : request.method.rawValue
        let path = request.url.dropFirst(base.count).prefix { $0 != "?" && $0 != "#" }
        let parts = path.split(separator: "/")
        let operation = OpenAPI.operations.first { operation in
            let template = operation.path.split(separator: "/")
            return "\(operation.method)" == method && template.count == parts.count
                && zip(template, parts).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        guard let operation else { return }
        #expect(operation.statuses.contains(status), "\(method) \(path) answered \(status)")
    }

    /// Reads the event stream and passes every event to `body` until that returns true.
    func events(
        _ query: String = "types=*&closeafter=no&ping=0", token: String,
        until body: (_ event: String, _ data: JSON) async throws -> Bool
    ) async throws {
        var request = HTTPClientRequest(url: base + "/jmap/eventsource?" + query)
        request.headers.add(name: "authorization", value: "Bearer \(token)")
        let response = try await Self.client.execute(request, timeout: Self.patience)
        var text = ""
        for try await chunk in response.body {
            text += String(buffer: chunk)
            while let end = text.firstRange(of: "\n\n") {
                let lines = text[..<end.lowerBound].split(separator: "\n")
                text.removeSubrange(..<end.upperBound)
                func field(_ name: String) -> String {
                    String(lines.first { $0.hasPrefix(name + ": ") }?.dropFirst(name.count + 2) ?? "")
                }
                if try await body(field("event"), JSON(parsing: field("data").utf8)) { return }
            }
        }
    }
}

extension OptimistServer {
    /// The epoch that the embedded store's server began at its start.
    var epoch: String { storage.rows.epoch }

    /// The embedded store's file.
    var database: ServerDatabase {
        get throws { try #require(storage.rows as? SQLiteSyncStore, "This server has no file.").database }
    }

    /// The embedded store's writer.
    var commits: GroupCommit {
        get throws { try #require(storage.accounts as? SQLiteAccountStore, "This server has no file.").commits }
    }
}
