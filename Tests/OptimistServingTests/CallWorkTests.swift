// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// How much work matching texts and resolving references may cost in one request.
@Suite(.timeLimit(.minutes(20)))
struct CallWorkTests {
    private typealias Ticks = WorkTests.Ticks

    /// Counts write transactions and their steps.
    private final class MeteredStore: SyncStore {
        private let base = InMemorySyncStore(accounts: [Served.account], epoch: "e1")
        private let count = Mutex((writes: 0, steps: 0))
        var writes: Int { count.withLock(\.writes) }
        var steps: Int { count.withLock(\.steps) }
        var epoch: String { base.epoch }

        func read<Answer: Sendable>(
            accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
            _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
        ) async throws -> Answer { try await base.read(accounts: accounts, as: reader, entering: entrances, work) }

        func write<Answer: Sendable>(
            accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
            _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
        ) async throws -> Answer {
            count.withLock { $0.writes += 1 }
            return try await base.write(accounts: accounts, as: reader, entering: entrances) { [self] open in
                defer { count.withLock { $0.steps += open.open.values.first?.meter?.steps ?? 0 } }
                return try work(open)
            }
        }

        func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
            try await base.states(of: accounts, as: reader)
        }

        func accounts(after id: String?, limit: Int) async throws -> [String] {
            try await base.accounts(after: id, limit: limit)
        }
    }

    private static func answer(
        _ calls: [Invocation], _ store: any SyncStore, _ budget: WorkBudget
    ) async throws -> [Invocation] {
        var schema = ModelStore.projects
        schema.types["Todo"]?.columns["content"]?.rules = ColumnRules(pattern: ".*#.{0,250}")
        schema.types["Todo"]?.columns["content"]?.maxBytes = nil
        let settings = ServingSettings(schema: schema, makeRowID: { RowKey.id(0xF00) }, workBudget: budget)
        let service = JMAPService(store: store, settings: settings) { Date(timeIntervalSince1970: 1_800_000_000) }
        let outcome = try await service.answer(Request(methodCalls: calls).json.bytes, as: .person(Served.account))
        return try #require(Response(json: JSON(parsing: outcome.response))).methodResponses
    }

    private static func call(_ name: String, _ arguments: JSONObject, _ number: Int = 0) -> Invocation {
        var arguments = arguments
        arguments.append("accountId", .string(Served.account))
        return Invocation(name, arguments, callID: "\(number)")
    }

    /// To-dos; every second one has a text that activates all states of the pattern without matching it.
    private static func heavy(_ count: Int) -> JSONObject {
        let text = String(repeating: "#a", count: 1_500) + String(repeating: "b", count: 300)
        let rows = (0..<count).map { number -> (RowKey, JSONObject) in
            (.todo(number), ["content": .string(number % 2 == 0 ? "\(number)\(text)" : "\(number)#short")])
        }
        return JSON.create(rows).object ?? [:]
    }

    @Test func `S9 G1 texts that are too much work to match are refused before the transaction starts`() async throws {
        let (store, ticks) = (MeteredStore(), Ticks())
        let budget = WorkBudget(.milliseconds(3), freeSteps: 512, now: ticks.now)
        let problem = await #expect(throws: RequestProblem.self) {
            try await Self.answer([Self.call("Todo/set", Self.heavy(10))], store, budget)
        }
        #expect(problem?.limit == "maxWork" && store.writes == 0)
    }

    @Test func `G1 each text is matched once, before the transaction`() async throws {
        let measured = MeteredStore()
        let answers = try await Self.answer([Self.call("Todo/set", Self.heavy(4))], measured, .unlimited)
        let refused = SetAnswer(json: answers[0].arguments)?.notCreated.map(\.id) ?? []
        #expect(refused == stride(from: 0, to: 4, by: 2).map { RowKey.todo($0).id })
        #expect(measured.steps < 200, "the transaction matched texts")
    }

    @Test func `G1 a referenced text is matched inside the transaction and counted as work`() async throws {
        let measured = MeteredStore()
        let reference: JSON = ["resultOf": "0", "name": "Core/echo", "path": "/create"]
        let calls = [Self.call("Core/echo", Self.heavy(4)), Self.call("Todo/set", ["#create": reference], 1)]
        let answers = try await Self.answer(calls, measured, .unlimited)
        #expect(SetAnswer(json: answers[1].arguments)?.notCreated.count == 2)
        #expect(measured.steps > 3_000, "\(measured.steps)")
    }

    @Test func `S9 matching stops when its request is cancelled`() async throws {
        let store = MeteredStore()
        let ticks = Mutex(0)
        let budget = WorkBudget(.seconds(1_000_000), freeSteps: 0) {
            let count = ticks.withLock { ticks in
                ticks += 1
                return ticks
            }
            if count == 3 { withUnsafeCurrentTask { $0?.cancel() } }
            return .zero
        }
        let work = Task { try await Self.answer([Self.call("Todo/set", Self.heavy(400))], store, budget) }
        await #expect(throws: CancellationError.self) { _ = try await work.value }
        #expect(store.writes == 0 && ticks.withLock(\.self) < 10)
    }

    // MARK: - References

    private static func reference(_ path: String) -> JSON {
        ["resultOf": "0", "name": "Core/echo", "path": .string(path)]
    }

    private static func referring(_ count: Int, calls: Int, many: Int) -> [Invocation] {
        let echo = call("Core/echo", ["many": .array((0..<many).map { .string("text \($0)") })])
        let references = JSONObject((0..<count).map { ("#x\($0)", reference("/many")) })
        return [echo] + (1...calls).map { call("Todo/set", references, $0) }
    }

    @Test func `S9 a referenced answer is parsed once, and each reference counts as work`() async throws {
        func steps(_ references: Int) async throws -> Int {
            let measured = MeteredStore()
            _ = try await Self.answer(Self.referring(references, calls: 50, many: 20_000), measured, .unlimited)
            return measured.steps
        }
        let (few, many) = (try await steps(1), try await steps(10))
        #expect(many > 5 * few, "\(few) \(many)")
        // With a time limit that this machine always exceeds.
        let ticks = Ticks()
        let problem = await #expect(throws: RequestProblem.self) {
            try await Self.answer(
                Self.referring(10, calls: 50, many: 20_000), MeteredStore(),
                WorkBudget(.zero, freeSteps: 1_000, now: ticks.now))
        }
        #expect(problem?.limit == "maxWork")
    }

    @Test func `a call may have 16 references, and they may read 4 MB of answers`() async throws {
        let most = try await Self.answer(Self.referring(16, calls: 1, many: 10), MeteredStore(), .unlimited)
        #expect(most[1].name == "Todo/set")
        let more = try await Self.answer(Self.referring(17, calls: 1, many: 10), MeteredStore(), .unlimited)
        #expect(more[1].arguments["type"] == "invalidArguments")
        let large = Self.call("Core/echo", ["many": [.string(String(repeating: "x", count: 4_000_000))]])
        let into = Self.call("Todo/get", ["ids": [], "#x": Self.reference("/many")], 1)
        let answers = try await Self.answer([large, into], MeteredStore(), .unlimited)
        #expect(answers[1].arguments["type"] == "requestTooLarge")
    }

    @Test func `a reference deeper than JSON may nest is an invalidResultReference`() async throws {
        let paths = [String(repeating: "/0", count: 33), String(repeating: "/x", count: 1_000_000), "many", "/many/10"]
        for path in paths {
            let calls = [
                Self.call("Core/echo", ["many": [1]]), Self.call("Todo/get", ["#ids": Self.reference(path)], 1),
            ]
            let answers = try await Self.answer(calls, MeteredStore(), .unlimited)
            #expect(answers[1].arguments["type"] == "invalidResultReference")
        }
    }
}
