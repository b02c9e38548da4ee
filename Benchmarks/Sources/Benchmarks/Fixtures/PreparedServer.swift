// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Optimist
import OptimistSession
import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization

/// A server with prepared answers, so that only the client is measured.
final class PreparedServer: Sendable {
    private static let account = "a1"
    private static let epoch = "e1"
    private static let address = URL(string: "http://127.0.0.1:9")

    private let pages: [[UInt8]]
    private let verdicts: [[UInt8]]
    private let asked = Mutex((pulls: 0, pushes: 0))
    private let (drained, drain) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - received: Rows that the device does not have, sorted by id, in the parts of a snapshot.
    ///   - pushed: The ids of the rows that the device will push. The server accepts every row.
    init(received: [[Todo]] = [], pushed: [[UUID]] = []) {
        pages =
            received.enumerated().map { Self.part($1, number: $0, isLast: $0 == received.count - 1) } + [Self.tail]
        verdicts = pushed.enumerated().map { Self.verdicts($1, number: $0) }
    }

    var pageBytes: [[UInt8]] { pages.dropLast() }

    /// Waits until the device requests the page after the last one. It has then applied every page.
    func isDrained() async { for await _ in drained { return } }

    func session() throws -> Session {
        guard let address = Self.address else { preconditionFailure("an address that cannot be read") }
        let credentials = Credentials(
            accessToken: Secret("access"), refreshToken: Secret("refresh"), expiresAt: nil, lifetime: nil,
            account: Account(id: Self.account, email: "ada@example.org"), origin: "http://127.0.0.1:9")
        let transport = InMemoryTransport { self.answer($0) }
        return Session(server: address, transport: transport, credentials: InMemoryCredentialStore(credentials))
    }

    // MARK: - Answering

    private func answer(_ request: TransportRequest) -> TransportResponse {
        if request.head.method == .get { return TransportResponse(.ok, Self.resource.json.description) }
        let isPush = String(decoding: request.body.prefix(160), as: UTF8.self).contains(#""push":"#)
        let bytes = asked.withLock { asked in
            if isPush {
                asked.pushes += 1
                return verdicts[asked.pushes - 1]
            }
            asked.pulls += 1
            return pages[min(asked.pulls, pages.count) - 1]
        }
        if !isPush, asked.withLock({ $0.pulls >= pages.count }) { drain.yield() }
        return TransportResponse(head: HTTPResponse(status: .ok), body: ResponseBody(bytes))
    }

    // MARK: - Preparing

    /// The resource has no event source, so the engine polls.
    private static let resource = SessionResource(
        username: "ada@example.org", apiURL: "/jmap", eventSourceURL: "", state: "s1", epoch: epoch,
        initialState: "\(epoch).0",
        accounts: [account: Schema(id: "planner", types: ["todo": TypeSchema(columns: [:])])],
        primaryAccount: account)

    /// The account's state before the first push.
    private static let seq: Int64 = 1_000_000
    private static let state = "\(epoch).\(seq)"

    private static func part(_ todos: [Todo], number: Int, isLast: Bool) -> [UInt8] {
        let seq = Int64(number + 1)
        let part = SnapshotAnswer(
            at: state, next: isLast ? nil : todos.last.map { wireID($0.id) },
            list: todos.enumerated().map { index, todo in (wireID(todo.id), patch(todo, seq: seq, index: index)) })
        return bytes(Invocation("todo/changes", part.json(accountID: account), callID: "0"))
    }

    /// The page after the snapshot, without changes.
    private static let tail = bytes(
        Invocation(
            "todo/changes", InlineChanges(oldState: state, newState: state).json(accountID: account), callID: "0"))

    /// Each row has its own clock, and every fourth row was edited later.
    private static func patch(_ todo: Todo, seq: Int64, index: Int) -> RowPatch {
        func clock(_ milliseconds: Int64) -> WriteClock {
            WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + milliseconds), device: "Phone\(index % 3)XYZW")
        }
        var clocks = ColumnClocks(common: clock(seq * 10_000 + Int64(index)))
        if index.isMultiple(of: 4) { clocks.exceptions["done"] = clock(seq * 10_000 + Int64(index) + 500) }
        return RowPatch(
            generation: 1, clocks: clocks, seq: seq,
            values: [
                "content": .string(todo.content), "date": .string(todo.date), "priority": .int(Int64(todo.priority)),
                "done": .bool(todo.done), "alarm": index.isMultiple(of: 2) ? "2026-11-21T10:00:00.000Z" : nil,
            ])
    }

    private static func verdicts(_ ids: [UUID], number: Int) -> [UInt8] {
        let seq = Self.seq + Int64(number)
        var answer = SetAnswer(oldState: "\(epoch).\(seq)", newState: "\(epoch).\(seq + 1)")
        answer.created = ids.map { (wireID($0), nil) }
        return bytes(Invocation("todo/set", answer.json(accountID: account), callID: "0"))
    }

    private static func bytes(_ invocation: Invocation) -> [UInt8] {
        Response(methodResponses: [invocation], sessionState: resource.state).json.bytes
    }

    private static func wireID(_ id: UUID) -> String { id.uuidString.lowercased() }
}
