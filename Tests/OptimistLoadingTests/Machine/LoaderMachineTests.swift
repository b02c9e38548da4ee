// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLoading

/// A loader's decisions, without a source, a disk or a clock.
@Suite(.timeLimit(.minutes(20)))
struct LoaderMachineTests {
    private static func limits(
        _ fetches: Int, unseen: Int = 3, interval: Duration? = nil, linger: Duration = .milliseconds(100),
        memory: MemoryLimits = MemoryLimits()
    ) -> LoaderLimits {
        LoaderLimits(fetches: fetches, unseenFetches: unseen, interval: interval, linger: linger, memory: memory)
    }

    // MARK: - One fetch, and how many at once

    @Test func `C2 a second request for a value joins its fetch, and every holder gets its events`() {
        let desk = MachineDesk()
        let asking = [desk.ask(1), desk.ask(1, .prefetch), desk.ask(1, .visible, .fresh)]
        #expect(desk.begun == [1])
        desk.report(1, 0.5)
        desk.show(1)
        let late = desk.ask(1)
        #expect(desk.told(late) == ["part", "0.5"], "a late holder gets the fetch's latest events")
        #expect(desk.answer(1) == true)
        for id in asking { #expect(desk.told(id) == ["0.5", "part", "source"]) }
        #expect(desk.told(late) == ["part", "0.5", "source"])
        #expect(desk.machine.counts.joins == 3)
        #expect(desk.begun == [1])
    }

    @Test func `C8 fetches are limited, with a lower limit off screen`() {
        let desk = MachineDesk(Self.limits(4, unseen: 2))
        for place in 1...3 { desk.ask(place, .prefetch) }
        #expect(desk.begun == [1, 2])
        for place in 4...6 { desk.ask(place) }
        #expect(desk.begun == [1, 2, 4, 5])
        desk.answer(4)
        #expect(desk.begun == [1, 2, 4, 5, 6], "keys on screen are first")
        desk.answer(5)
        #expect(desk.begun.count == 5, "two fetches off screen are enough")
        desk.answer(1)
        #expect(desk.begun.last == 3)
    }

    @Test func `C8 visible values are fetched first, then those needed soon, then prefetches`() {
        let desk = MachineDesk(Self.limits(1))
        desk.ask(1)
        desk.ask(2, .prefetch)
        desk.ask(3, .soon)
        desk.ask(4, .soon)
        let last = desk.ask(5, .prefetch)
        desk.order([3], at: .soon)
        desk.change(last, to: .visible)
        for place in [1, 5, 4, 3, 2] { #expect(desk.answer(place) == true) }
        #expect(desk.begun == [1, 5, 4, 3, 2])
    }

    @Test func `C2 a view raises the priority of the prefetch that it joins, so another prefetch can start`() {
        let desk = MachineDesk(Self.limits(3, unseen: 1))
        desk.ask(1, .prefetch)
        desk.ask(2, .prefetch)
        #expect(desk.begun == [1])
        let view = desk.ask(1)
        #expect(desk.begun == [1, 2])
        desk.ask(3, .prefetch)
        desk.change(view, to: .soon)
        desk.answer(1)
        #expect(desk.begun == [1, 2], "the running prefetch takes the only slot")
        desk.answer(2)
        #expect(desk.begun == [1, 2, 3])
    }

    @Test func `C8 each lane has its own slots and its own interval`() {
        let desk = MachineDesk(Self.limits(1, interval: .seconds(1)))
        desk.ask(1)
        desk.ask(2, lane: "other")
        #expect(desk.begun == [1, 2])
        desk.ask(3)
        desk.answer(1)
        #expect(desk.begun == [1, 2], "the interval has not passed")
        #expect(desk.alarm == .seconds(1))
        desk.pass(.milliseconds(999))
        #expect(desk.begun == [1, 2])
        desk.pass(.milliseconds(1))
        #expect(desk.begun == [1, 2, 3])
    }

    @Test func `C8 a fetch that waits for another one lends its slot to that one only`() throws {
        let desk = MachineDesk(Self.limits(1))
        desk.ask(1)
        desk.ask(2)
        let inner = desk.ask(3, .visible, .cached, try desk.manner(of: 1))
        #expect(desk.begun == [1, 3])
        desk.answer(3)
        #expect(desk.told(inner) == ["source"])
        #expect(desk.begun == [1, 3], "the slot is taken back")
        desk.answer(1)
        #expect(desk.begun == [1, 3, 2])
    }

    @Test func `C8 fetches that would wait for each other fail immediately`() throws {
        let desk = MachineDesk(Self.limits(1))
        desk.ask(1)
        desk.ask(2, .visible, .cached, try desk.manner(of: 1))
        desk.ask(3, .visible, .cached, try desk.manner(of: 2))
        let last = desk.ask(1, .visible, .cached, try desk.manner(of: 3))
        #expect(desk.told(last).count == 1)
        #expect(desk.machine.isHeldInVain(last))
        for place in [3, 2, 1] { #expect(desk.answer(place) == true) }
        #expect(desk.told(last).count == 1)
    }

    @Test func `C8 nothing starts before the last open batch ends`() {
        let desk = MachineDesk(Self.limits(1))
        desk.beginBatch()
        desk.ask(1)
        desk.beginBatch()
        let left = desk.ask(2)
        desk.endBatch()
        #expect(desk.begun.isEmpty)
        desk.ask(3)
        desk.leave(left)
        desk.endBatch()
        #expect(desk.begun == [1])
        desk.answer(1)
        #expect(desk.begun == [1, 3])
    }

    // MARK: - Leaving

    @Test func `C3 a fetch that lost its last holder lingers, and then stops`() throws {
        let desk = MachineDesk()
        let (first, second) = (desk.ask(1), desk.ask(1))
        let id = try #require(desk.fetch(of: 1))
        desk.leave(first)
        #expect(desk.alarm == nil, "another holder wants the fetch")
        desk.leave(second)
        #expect(desk.alarm == .milliseconds(100))
        desk.pass(.milliseconds(99))
        #expect(desk.cancelled.isEmpty)
        #expect(desk.alarm == .milliseconds(100))
        desk.pass(.milliseconds(1))
        #expect(desk.cancelled == [1])
        #expect(desk.answer(id) == nil, "the fetch was cancelled")
        #expect(desk.machine.isIdle(1))
        desk.leave(second)
        #expect(desk.machine.counts.cancelled == 1, "a holder that left cannot leave again")
    }

    @Test func `C3 a holder that comes back in time keeps the fetch running`() {
        let desk = MachineDesk()
        desk.leave(desk.ask(1))
        let back = desk.ask(1)
        desk.pass(.seconds(1))
        #expect(desk.cancelled.isEmpty)
        #expect(desk.answer(1) == true)
        #expect(desk.told(back) == ["source"])
        #expect(desk.begun == [1])
    }

    @Test func `C3 a queued fetch without holders is dropped immediately, and a lingering one gives way`() {
        let desk = MachineDesk(Self.limits(1))
        let first = desk.ask(1)
        desk.leave(desk.ask(2))
        #expect(desk.machine.counts.dropped == 1)
        desk.leave(first)
        #expect(desk.cancelled.isEmpty)
        desk.ask(3)
        #expect(desk.cancelled == [1])
        #expect(desk.begun == [1, 3])
    }

    // MARK: - Failures

    @Test func `C4 a failure reaches every waiting holder, and the next request tries again`() {
        let desk = MachineDesk()
        let asking = [desk.ask(1), desk.ask(1, .prefetch)]
        desk.fail(1)
        for id in asking {
            #expect(desk.told(id) == ["failure"])
            #expect(desk.machine.isHeldInVain(id))
        }
        desk.ask(1)
        #expect(desk.begun == [1, 1])
    }

    @Test func `C4 during a pause the error is the answer, except to a retry or a fresh request`() {
        let desk = MachineDesk()
        desk.ask(1)
        desk.fail(1, pause: .seconds(60))
        let asking = [desk.ask(1), desk.ask(1, .visible, .cachedThenRefreshed)]
        for id in asking { #expect(desk.told(id) == ["failure"]) }
        #expect(desk.begun == [1])
        desk.ask(1, .visible, .fresh)
        #expect(desk.begun == [1, 1])
        desk.fail(1, pause: .seconds(60))
        desk.ask(1, .visible, .cached, AskingManner(isRetry: true))
        #expect(desk.begun == [1, 1, 1])
        desk.fail(1, pause: .seconds(60))
        desk.pass(.seconds(60))
        desk.ask(1)
        #expect(desk.begun == [1, 1, 1, 1], "the pause is over")
    }

    @Test func `C4 the loader remembers at most a thousand errors, and drops expired ones for new ones`() {
        let desk = MachineDesk()
        func fail(_ places: Range<Int>) {
            for place in places {
                desk.ask(place)
                desk.fail(place, pause: .seconds(60))
            }
        }
        fail(0..<1_003)
        #expect(desk.machine.failures.count == 1_000)
        desk.pass(.seconds(60))
        fail(2_000..<2_001)
        #expect(desk.machine.failures.count == 1)
    }
}
