// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// What a request may cost, with a clock under the test's control.
@Suite(.timeLimit(.minutes(20)))
struct WorkTests {
    /// Advances by a millisecond each time it is read.
    final class Ticks: Sendable {
        private let count = Mutex(0)
        var looks: Int { count.withLock(\.self) }

        func now() -> Duration {
            count.withLock {
                $0 += 1
                return .milliseconds($0)
            }
        }
    }

    /// A service on an in-memory store with such a clock.
    private struct Slow: Sendable {
        let store = InMemorySyncStore(accounts: [Served.account], epoch: "e1")
        let ticks = Ticks()
        private let service: JMAPService

        init(
            _ budget: Duration, freeStepsOfUnit: Int? = nil,
            validate: @escaping ServingSettings.Validation = { _ in nil }
        ) {
            var schema = ModelStore.projects
            schema.types["Todo"]?.columns["listId"]?.onDelete = .cascade
            let settings = ServingSettings(
                schema: schema, makeRowID: { RowKey.id(0xF00) },
                workBudget: WorkBudget(budget, freeSteps: 640, freeStepsOfUnit: freeStepsOfUnit, now: ticks.now),
                validate: validate)
            service = JMAPService(store: store, settings: settings) { Date(timeIntervalSince1970: 1_800_000_000) }
        }

        func set(_ type: String, _ arguments: JSON, push: Int64? = nil) async throws -> SetAnswer {
            var arguments = arguments.object ?? [:]
            arguments.append("accountId", .string(Served.account))
            let request = Request(
                methodCalls: [Invocation("\(type)/set", arguments, callID: "0")],
                device: push == nil ? nil : "deviceAA", push: push)
            let outcome = try await service.answer(request.json.bytes, as: .person(Served.account))
            let answer = try #require(Response(json: JSON(parsing: outcome.response))?.methodResponses.first)
            return try #require(SetAnswer(json: answer.arguments))
        }

        var seq: Int64 { get throws { try store.reading(Served.account, as: .operator) { $0.seq } } }
        func count(_ type: String) throws -> Int {
            try store.reading(Served.account, as: .operator) { try $0.livingCount(type: type) }
        }
    }

    private static func todos(_ numbers: Range<Int>) -> JSON {
        .create(
            numbers.map { (.todo($0), ["content": "x", "listId": .string(RowKey.list.id)]) })
    }

    private static func isTooMuch(_ work: () async throws -> SetAnswer) async -> Bool {
        let problem = await #expect(throws: RequestProblem.self) { _ = try await work() }
        return problem?.status == 413 && problem?.type == RequestProblem.jmapPrefix + "limit"
            && problem?.limit == "maxWork"
    }

    @Test func `S9 a push over its work budget is refused as a unit, and half of it is accepted`()
        async throws
    {
        let server = Slow(.milliseconds(100))
        _ = try await server.set("List", .create([(.list, ["name": "l"])]), push: 7)
        #expect(await Self.isTooMuch { try await server.set("Todo", Self.todos(0..<2000), push: 8) })
        #expect(try server.seq == 1 && server.count("Todo") == 0)
        // The server did not keep the number of the refused push.
        #expect(try await server.set("Todo", Self.todos(0..<1000), push: 7).created.count == 1000)
    }

    @Test func `S9 M2 a delete that cascades beyond the budget is refused, and a smaller one is accepted`()
        async throws
    {
        let server = Slow(.milliseconds(100))
        _ = try await server.set("List", .create([(.list, ["name": "l"])]))
        for start in stride(from: 0, to: 3000, by: 500) {
            _ = try await server.set("Todo", Self.todos(start..<start + 500))
        }
        #expect(await Self.isTooMuch { try await server.set("List", .destroy(.list)) })
        #expect(try server.count("Todo") == 3000 && server.count("List") == 1)
        for start in stride(from: 0, to: 2500, by: 500) {
            _ = try await server.set(
                "Todo", ["destroy": .array((start..<start + 500).map { .string(RowKey.todo($0).id) })])
        }
        #expect(try await server.set("List", .destroy(.list)).destroyed == [RowKey.list.id])
        #expect(try server.count("Todo") == 0)
    }

    @Test func `S9 M2 a single delete within its free steps is never refused for time`()
        async throws
    {
        let server = Slow(.zero, freeStepsOfUnit: 3_000)
        _ = try await server.set("List", .create([(.list, ["name": "l"])]))
        func fill(_ numbers: Range<Int>) async throws {
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 50) {
                _ = try await server.set("Todo", Self.todos(start..<start + 50))
            }
        }
        try await fill(0..<2_000)
        #expect(await Self.isTooMuch { try await server.set("List", .destroy(.list)) })
        let some = (600..<2_000).map { RowKey.todo($0) }
        for start in stride(from: 0, to: some.count, by: 50) {
            let ids = some[start..<start + 50].map { JSON.string($0.id) }
            _ = try await server.set("Todo", ["destroy": .array(ids)])
        }
        let both: JSON = ["destroy": [.string(RowKey.list.id), .string(RowKey.todo(9_999).id)]]
        #expect(await Self.isTooMuch { try await server.set("List", both) })
        #expect(try await server.set("List", .destroy(.list)).destroyed == [RowKey.list.id])
        #expect(try server.count("Todo") == 0)
    }

    @Test func `S9 a push of few rows never exceeds the budget, however slow the machine is`() async throws {
        let server = Slow(.zero)
        _ = try await server.set("List", .create([(.list, ["name": "l"])]))
        #expect(try await server.set("Todo", Self.todos(0..<100)).created.count == 100)
        #expect(await Self.isTooMuch { try await server.set("Todo", Self.todos(100..<400)) })
    }

    @Test func `cancelled work stops and keeps nothing`() async throws {
        let judged = Mutex(0)
        let server = Slow(.seconds(1000)) { _ in
            judged.withLock { $0 += 1 }
            // The in-memory store runs on the caller's task.
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        }
        let work = Task { try await server.set("Todo", ["create": Self.todos(0..<5000)["create"] ?? [:]]) }
        await #expect(throws: CancellationError.self) { _ = try await work.value }
        #expect(judged.withLock(\.self) < 200)
        #expect(try server.seq == 0)
    }

    @Test func `the clock is read once for many rows, and never without a budget`() async throws {
        let server = Slow(.seconds(1000))
        _ = try await server.set("Todo", .create((0..<5000).map { (.todo($0), ["content": "x"]) }))
        #expect((50..<1000).contains(server.ticks.looks))
        let meter = WorkMeter(.unlimited, for: WorkCaller())
        for _ in 0..<100_000 { try meter.step() }
        try meter.step(bytes: 1_000_000_000)
    }

    @Test func `S2 the rows of a failed group name some of the rows at fault, not thousands`() {
        var store = ModelStore()
        let bad = (0..<1000).map { RowOperation.create(.todo($0), ["done": true], at: .at(0)) }
        let good = (1000..<2000).map { RowOperation.create(.todo($0), ["content": "x"], at: .at(0)) }
        let verdicts = store.push(bad + good, groups: [(0..<2000).map { .todo($0) }])
        let errors = verdicts.compactMap(\.error)
        #expect(errors.filter { $0.type == "invalidProperties" }.count == 1000)
        let others = errors.filter { $0.type == "groupFailed" }
        #expect(others.count == 1000 && others.allSatisfy { (1...16).contains($0.blockedBy.count) })
    }
}
