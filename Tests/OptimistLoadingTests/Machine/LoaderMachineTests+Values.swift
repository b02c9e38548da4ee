// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistLoading

/// Which values are kept, and which holders they satisfy.
extension LoaderMachineTests {
    @Test func `C1 a value in memory is returned at once, unless a fresh one is required and it has expired`() {
        let desk = MachineDesk()
        desk.ask(1)
        #expect(!desk.isShown(1))
        desk.answer(1, expiresAt: .seconds(10))
        #expect(desk.isShown(1, isFresh: true))
        let second = desk.ask(1)
        #expect(desk.told(second) == ["memory"])
        desk.now = .seconds(10)
        #expect(!desk.isShown(1, isFresh: true))
        #expect(desk.isShown(1))
        #expect(desk.begun == [1])
    }

    @Test func `C7 each freshness accepts the values it promises`() {
        let desk = MachineDesk()
        desk.ask(1)
        desk.answer(1, expiresAt: .seconds(10), etag: "a")
        let fresh = desk.ask(1, .visible, .fresh)
        #expect(desk.told(fresh).isEmpty, "the source is asked in any case")
        #expect(desk.formers.last == Validity(etag: "a"), "the source can report the value as unchanged")
        desk.answer(1, expiresAt: .seconds(10), isUnchanged: true)
        #expect(desk.told(fresh) == ["source"])
        #expect(desk.machine.counts.unchanged == 1)
        desk.now = .seconds(10)
        let refreshed = desk.ask(1, .visible, .cachedThenRefreshed)
        let cached = desk.ask(1)
        #expect(desk.told(refreshed) == ["memory"])
        #expect(desk.told(cached).isEmpty, "the value has expired")
        desk.answer(1)
        #expect(desk.told(refreshed) == ["memory", "source"])
        #expect(desk.told(cached) == ["source"])
        #expect(desk.begun == [1, 1, 1])
    }

    @Test func `C7 the disk is asked first, and the source if the disk's value does not suffice`() {
        let desk = MachineDesk(hasDisk: true)
        let holders = [desk.ask(1), desk.ask(1, .visible, .cachedThenRefreshed), desk.ask(1, .visible, .fresh)]
        #expect(desk.begun.isEmpty)
        desk.answerRead(1, MachineDesk.arrival(1, etag: "a"))
        #expect(holders.map(desk.told) == [["disk"], ["disk"], []])
        #expect(desk.formers == [Validity(etag: "a")])
        desk.answer(1)
        #expect(holders.map(desk.told) == [["disk"], ["disk"], ["source"]])

        let expired = [desk.ask(2), desk.ask(2, .visible, .cachedThenRefreshed)]
        desk.answerRead(2, MachineDesk.arrival(2, expiresAt: .zero))
        #expect(expired.map(desk.told) == [[], ["disk"]])
        desk.answer(2)
        #expect(expired.map(desk.told) == [["source"], ["disk", "source"]])

        let missing = desk.ask(3)
        desk.answerRead(3, nil)
        desk.answer(3)
        #expect(desk.told(missing) == ["source"])
        #expect(desk.machine.counts.diskHits == 2)
    }

    @Test func `C3 a read without waiting holders asks no source`() {
        let desk = MachineDesk(LoaderLimits(linger: .milliseconds(100)), hasDisk: true)
        desk.leave(desk.ask(1))
        desk.answerRead(1, nil)
        #expect(desk.begun.isEmpty)
        #expect(desk.machine.isIdle(1))
    }

    @Test func `C2 a stored value serves every waiting holder, except holders that want a fresh value`() throws {
        let desk = MachineDesk()
        let cached = desk.ask(1)
        desk.store(1)
        #expect(desk.told(cached) == ["memory"])
        #expect(desk.cancelled == [1])
        let fresh = desk.ask(2, .visible, .fresh)
        let late = try #require(desk.fetch(of: 2))
        desk.store(2)
        #expect(desk.told(fresh).isEmpty)
        #expect(desk.cancelled == [1, 2])
        #expect(desk.begun == [1, 2, 2])
        #expect(desk.answer(late) == nil, "the fetch began before the store")
        #expect(desk.answer(2) == true)
        #expect(desk.told(fresh) == ["source"])
    }

    @Test func `C10 a value removed during its fetch reaches the waiting holders and is not kept`() {
        let desk = MachineDesk()
        let waiting = desk.ask(1)
        desk.remove(1)
        #expect(desk.answer(1) == false)
        #expect(desk.told(waiting) == ["source"])
        #expect(desk.machine.isIdle(1))
    }

    @Test func `C10 removing everything ends every fetch, and late answers are ignored`() throws {
        let desk = MachineDesk(LoaderLimits(fetches: 1))
        desk.ask(1)
        desk.answer(1)
        let (running, queued) = (desk.ask(2), desk.ask(3))
        let late = try #require(desk.fetch(of: 2))
        desk.removeAll()
        #expect(desk.told(running) == ["failure"])
        #expect(desk.told(queued) == ["failure"])
        #expect(desk.cancelled == [2])
        #expect((1...3).allSatisfy { desk.machine.isIdle($0) })
        #expect(desk.answer(late) == nil)
        desk.ask(4)
        #expect(desk.begun.last == 4, "the slots are free")
    }

    @Test func `C5 a value on the screen outlives other values, and a holder that lost its value knows`() {
        let desk = MachineDesk(LoaderLimits(memory: MemoryLimits(count: 4)))
        let shown = desk.ask(1)
        desk.answer(1)
        for place in 2...20 {
            desk.leave(desk.ask(place))
            desk.answer(place)
        }
        #expect(desk.isShown(1))
        #expect(!desk.machine.isHeldInVain(shown))
        desk.trim(to: 0)
        #expect(!desk.isShown(1))
        #expect(desk.machine.isHeldInVain(shown))
    }

    // MARK: - Laws

    @Test(arguments: 1...200)
    func `C2 C3 C8 under random events: limits hold, no fetch runs twice, no slot idles, every holder is answered`(
        seed: UInt64
    ) {
        var random = SplitMix64(seed: seed)
        let slots = Int.random(in: 1...4, using: &random)
        let desk = MachineDesk(
            LoaderLimits(fetches: slots, unseenFetches: 2, memory: MemoryLimits(count: 5)),
            hasDisk: Bool.random(using: &random))
        var (holders, batches): ([HolderID], Int) = ([], 0)
        for _ in 0..<400 {
            act(desk, &holders, &batches, &random)
            for name in ["odd", nil] {
                let lane = desk.machine.flights.compactMap(\.self).filter { Self.lane(of: $0, in: desk) == name }
                let running = desk.running.values.count { Self.lane($0.place) == name }
                #expect(running <= slots)
                let isWaiting = lane.contains { $0.stage == .queuedToFetch && $0.priority == .visible }
                #expect(batches > 0 || running == slots || !isWaiting, "a slot is free for what is on screen")
            }
            #expect(desk.reading.count <= 4)
        }
        for _ in 0..<batches { desk.endBatch() }
        while !desk.running.isEmpty || !desk.reading.isEmpty {
            for place in desk.reading.values.map(\.place).sorted() { desk.answerRead(place, nil) }
            for place in desk.running.values.map(\.place).sorted() { desk.answer(place) }
            desk.pass(.seconds(1))
        }
        #expect(desk.machine.flights.allSatisfy { $0 == nil }, "no flight waits for ever")
        for holder in holders {
            let isContent = desk.told(holder).contains { ["memory", "disk", "source", "failure"].contains($0) }
            #expect(isContent, "a holder received only \(desk.told(holder))")
        }
    }

    private static func lane(_ place: Int) -> String? { place.isMultiple(of: 2) ? nil : "odd" }

    private static func lane(of flight: Flight, in desk: MachineDesk) -> String? {
        desk.machine.lanes[flight.lane].name
    }

    /// One event of any kind.
    private func act(
        _ desk: MachineDesk, _ holders: inout [HolderID], _ batches: inout Int, _ random: inout SplitMix64
    ) {
        let place = Int.random(in: 0..<8, using: &random)
        let priority = LoadPriority.allCases.randomElement(using: &random) ?? .visible
        let freshness: [Freshness] = [.cached, .cached, .cachedThenRefreshed, .fresh]
        let expiry = Bool.random(using: &random) ? desk.now + .seconds(1) : nil
        switch Int.random(in: 0..<22, using: &random) {
        case 0...5:
            let manner = AskingManner(
                outlives: Bool.random(using: &random), isRetry: Int.random(in: 0..<4, using: &random) == 0)
            holders.append(
                desk.ask(
                    place, priority, freshness.randomElement(using: &random) ?? .cached, manner, lane: Self.lane(place))
            )
        case 6...8:
            guard !holders.isEmpty else { break }
            desk.leave(holders.remove(at: Int.random(in: holders.indices, using: &random)))
        case 9: if let holder = holders.randomElement(using: &random) { desk.change(holder, to: priority) }
        case 10...12:
            let places = desk.running.values.map(\.place).sorted()
            if let place = places.randomElement(using: &random) { desk.answer(place, expiresAt: expiry) }
        case 13:
            let places = desk.running.values.map(\.place).sorted()
            guard let place = places.randomElement(using: &random) else { break }
            desk.fail(place, pause: Bool.random(using: &random) ? .seconds(5) : nil)
        case 14, 15:
            let places = desk.reading.values.map(\.place).sorted()
            guard let place = places.randomElement(using: &random) else { break }
            desk.answerRead(place, Bool.random(using: &random) ? MachineDesk.arrival(place, expiresAt: expiry) : nil)
        case 16: desk.store(place, isSeed: Bool.random(using: &random), expiresAt: expiry)
        case 17: desk.remove(place)
        case 18: if Int.random(in: 0..<10, using: &random) == 0 { desk.removeAll() } else { desk.trim(to: 0.5) }
        case 19:
            if batches > 0, Bool.random(using: &random) {
                batches -= 1
                desk.endBatch()
            } else if batches < 2 {
                batches += 1
                desk.beginBatch()
            }
        case 20:
            desk.report(place, 0.5)
            desk.show(place)
        default: desk.pass(.milliseconds(Int.random(in: 0...300, using: &random)))
        }
    }
}
