// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import Testing

@testable import Optimist
@testable import OptimistCore

extension SyncMachineTests {
    @Test func `R7 the stream reconnects with the backoff and pulls when it opens`() throws {
        var run = MachineRun(seed: 8)
        run.handle(.started([:]))
        run.handle(.streamAlive)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        for _ in 0..<14 {
            run.finish(.stream, .streamEnded(.transient))
            while !run.working.contains(.stream) {
                let hasStepped = run.step()
                try #require(hasStepped, "no timer reopens the stream")
            }
        }
        #expect(run.attempts[.stream]?.prefix(3).allSatisfy { $0 == .zero } == true, "three prompt attempts")
        let backoff = Backoff()
        let waits = run.waits[.stream] ?? []
        #expect(waits.count == 12)
        for (step, wait) in waits.enumerated() {
            #expect(wait >= .zero && wait <= backoff.limit(afterFailures: step + 1))
        }
        #expect(waits.max() ?? .zero > .seconds(10), "the waits grow")
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
        run.handle(.streamAlive)
        #expect(run.working.contains(.pull), "the device may have missed changes")
    }

    @Test func `R7 a remote without a stream is polled every minute`() {
        var run = MachineRun(seed: 9)
        run.handle(.started([:]))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.finish(.stream, .streamEnded(.noPokes))
        let before = run.attempts[.pull]?.count ?? 0
        while run.now < .seconds(60) { run.step() }
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        while !run.working.contains(.pull) { run.step() }
        #expect(run.attempts[.pull]?.count == before + 1)
    }

    @Test func `R7 without an open stream, the device polls every minute and keeps the stream's backoff`() {
        var run = MachineRun(seed: 10)
        run.handle(.started([:]))
        repeat {
            while run.working.contains(.push) { run.finish(.push, .pushed(.nothing(nextDue: nil))) }
            while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
            while run.working.contains(.stream) { run.finish(.stream, .streamEnded(.transient)) }
        } while run.step(until: .seconds(7200))
        let pulls = run.attempts[.pull] ?? []
        #expect((119...123).contains(pulls.count), "\(pulls.count) pulls in two hours")
        for (pull, next) in zip(pulls, pulls.dropFirst()) { #expect(next - pull <= .seconds(60)) }
        #expect((run.attempts[.stream] ?? []).count < 300)
        for (step, wait) in (run.waits[.stream] ?? []).enumerated() {
            #expect(wait <= Backoff().limit(afterFailures: step + 1))
        }
        #expect(run.machine.phase == .idle, "every change arrives, at most a minute late")
    }

    @Test func `R7 S6 a stream that ends as soon as it opens is reopened with the backoff`() {
        var run = MachineRun(seed: 14)
        run.handle(.started([:]))
        repeat {
            while run.working.contains(.push) { run.finish(.push, .pushed(.nothing(nextDue: nil))) }
            while run.working.contains(.stream) {
                run.handle(.streamAlive)
                run.handle(.poked)
                run.finish(.stream, .streamEnded(.transient))
            }
            while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
        } while run.step(until: .seconds(3600))
        #expect((run.attempts[.stream] ?? []).count < 240)
        #expect((run.attempts[.pull] ?? []).count < 480)
        let waits = run.waits[.stream] ?? []
        #expect(waits.max() ?? .zero > .seconds(10), "the waits grow")
    }

    @Test func `S6 a stream that fails past its prompt attempts counts as offline until another lane succeeds`() {
        var run = MachineRun(seed: 11)
        run.handle(.started([:]))
        run.handle(.streamAlive)
        while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        #expect(run.machine.phase == .idle)
        // The server dies while the device has nothing to send.
        run.finish(.stream, .streamEnded(.transient))
        #expect(run.machine.phase == .idle, "one failure does not count as offline")
        while run.working.contains(.stream) { run.finish(.stream, .streamEnded(.transient)) }
        #expect(run.machine.phase == .offline)
        repeat { run.failAll() } while run.step(until: .seconds(3600))
        #expect(run.machine.phase == .offline)
        while !run.working.contains(.pull) { run.step() }
        run.finish(.pull, .pulled(.page(hasMore: false)))
        while run.working.contains(.push) { run.finish(.push, .pushed(.nothing(nextDue: nil))) }
        #expect(run.machine.phase == .idle)
    }

    @Test func `S5 a request unanswered for a quarter of an hour is retried; an open stream is not`() {
        var run = MachineRun(seed: 12)
        run.handle(.started([:]))
        while run.now < .seconds(840) { run.step() }
        #expect(run.givenUp.isEmpty)
        run.step()
        #expect(run.now == .seconds(900))
        #expect(run.givenUp == [.push, .pull, .stream])
        #expect(run.working == [.push, .pull, .stream])
        #expect(run.rowLimits == [1000, 500], "fewer rows may get through")
        #expect(run.machine.phase == .offline)
        run.handle(.streamAlive)
        while run.now < .seconds(7200) { run.step() }
        #expect(run.givenUp.filter { $0 == .stream }.count == 1)
        #expect(run.givenUp.filter { $0 == .push }.count > 3)
    }

    @Test func `R7 a device whose pokes are lost polls every quarter of an hour despite an open stream`() {
        var run = MachineRun(seed: 1)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.handle(.streamAlive)
        while run.working.contains(.pull) { run.finish(.pull, .pulled(.page(hasMore: false))) }
        for _ in 0..<3 {
            let began = run.now
            while !run.working.contains(.pull) {
                if run.working.contains(.push) { run.finish(.push, .pushed(.nothing(nextDue: nil))) }
                run.step()
            }
            #expect(run.now - began <= .seconds(15 * 60))
            run.finish(.pull, .pulled(.page(hasMore: false)))
        }
    }

    /// Every poke is lost; answers and streams are lost in any order.
    @Test(arguments: 1...100)
    func `R7 a device that may sync polls again within an hour, whatever is lost`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var run = MachineRun(seed: seed)
        run.handle(.started([:]))
        while run.now < .seconds(24 * 3600) {
            #expect(run.now - (run.attempts[.pull]?.last ?? .zero) <= .seconds(3600))
            switch Int.random(in: 0..<12, using: &random) {
            case 0 where run.working.contains(.push): run.finish(.push, .pushed(.nothing(nextDue: nil)))
            case 1 where run.working.contains(.push):
                run.finish(.push, .pushed(.failed(.transient, rows: 9, units: 9)))
            case 2 where run.working.contains(.pull): run.finish(.pull, .pulled(.page(hasMore: false)))
            case 3 where run.working.contains(.pull): run.finish(.pull, .pulled(.failed(.transient)))
            case 4 where run.working.contains(.pull): run.finish(.pull, .pulled(.failed(.throttled(.seconds(600)))))
            case 5 where run.working.contains(.stream): run.handle(.streamAlive)
            case 6 where run.working.contains(.stream): run.finish(.stream, .streamEnded(.transient))
            case 7 where run.working.contains(.stream): run.finish(.stream, .streamEnded(.noPokes))
            case 8: run.handle(.online(.random(using: &random)))
            default: run.step()
            }
        }
    }
}
