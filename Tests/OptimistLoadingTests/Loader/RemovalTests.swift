// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct RemovalTests {
    @Test func `C10 removing everything empties the memory, and running fetches are cancelled`() async throws {
        let desk = Desk()
        desk.loader.store(1, for: "a")
        let listener = Listener(desk.loader, "b")
        await desk.source.begin()
        desk.loader.removeAll()
        #expect(await listener.next() == "CancellationError()")
        #expect(desk.loader.cached("a") == nil)
        #expect(await desk.source.cancellation() == "b")
        async let value = desk.loader.value(for: "b")
        await desk.source.begin()
        desk.source.answer("b", 2)
        #expect(try await value == 2)
        desk.loader.inspect { state in
            #expect(state.machine.memory.cost == state.machine.memory.addedCost)
            #expect(state.places.count == 1)
        }
    }

    @Test func `a value removed during its fetch reaches the waiting holders and is not kept`() async throws {
        let desk = Desk()
        let former = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.loader.remove("a")
        desk.source.answer("a", 1)
        #expect(await former.next() == "1 from source")
        #expect(desk.loader.cached("a") == nil)
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", 2)
        #expect(try await value == 2)
    }

    @Test func `places of unused keys are reused`() async throws {
        let desk = Desk(LoaderLimits(linger: .zero, memory: MemoryLimits(count: 10)))
        for number in 0..<1_000 {
            desk.loader.store(number, for: "\(number)")
            Listener(desk.loader, "fetched \(number)").ticket.cancel()
        }
        desk.loader.inspect { state in
            #expect(state.places.count == 10)
            #expect(state.slots.elements.count <= 12)
        }
    }

    @Test(arguments: [true, false])
    func `held values are evicted last, up to half of the limits`(isHeld: Bool) async throws {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(costBytes: 10, count: 10)))
        for number in 0..<8 { desk.loader.store(number, for: "\(number)") }
        let tickets = isHeld ? (0..<8).map { Listener(desk.loader, "\($0)") } : []
        for number in 100..<200 {
            desk.loader.store(number, for: "\(number)")
            for _ in 0..<3 { _ = desk.loader.cached("\(number)") }
        }
        let left = (0..<8).filter { desk.loader.cached("\($0)") != nil }.count
        #expect(isHeld ? left >= 5 : left == 0)
        withExtendedLifetime(tickets) {}
        desk.loader.trim(to: 0)
        #expect(desk.loader.inspect { $0.machine.memory.count } == 0)
    }
}
