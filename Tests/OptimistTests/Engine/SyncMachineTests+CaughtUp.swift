// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore
import Testing

@testable import Optimist

extension SyncMachineTests {
    private static let failedPush = SyncMachine.Event.pushed(.failed(.transient, rows: 1, units: 1))

    /// A connected device that has received everything and has nothing to send.
    private func caughtUp() -> MachineRun {
        var run = MachineRun(seed: 15)
        run.handle(.started([:]))
        run.finish(.stream, .streamEnded(.noPokes))
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.finish(.pull, .pulled(.page(hasMore: true)))
        #expect(!run.machine.isCaughtUp, "more pages follow")
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
        run.handle(.poked)
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.finish(.pull, .pulled(.page(hasMore: true)))
        #expect(run.machine.isCaughtUp, "new rows do not undo that state")
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.working.isEmpty)
        return run
    }

    /// The same device after so many failed pushes that the next one waits.
    private func unreached() -> MachineRun {
        var run = caughtUp()
        run.handle(.wrote)
        while run.working.contains(.push) { run.finish(.push, Self.failedPush) }
        #expect(run.machine.phase == .offline)
        #expect(!run.machine.isCaughtUp)
        return run
    }

    @Test func `Q3 a device that was out of reach pulls again, even if it has nothing to send`() {
        var run = unreached()
        while !run.working.contains(.push) { run.step() }
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        #expect(!run.machine.isCaughtUp)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
    }

    @Test func `Q3 a complete pull during failing pushes counts as soon as a push succeeds`() {
        var run = unreached()
        run.handle(.foreground)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(!run.machine.isCaughtUp, "the device is still offline")
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        #expect(run.machine.isCaughtUp)
        #expect(!run.working.contains(.pull), "no pull is repeated")
    }

    @Test(
        arguments: [
            [.online(false), .online(true)], [failedPush], [.signedOut(PauseReason(.signedOut, "revoked")), .signedIn],
            [.pulled(.failed(.transient))],
        ] as [[SyncMachine.Event]])
    func `Q3 a pull completed before the device lost the server again does not count`(losses: [SyncMachine.Event]) {
        var run = unreached()
        run.handle(.foreground)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        for loss in losses { run.handle(loss) }
        run.working.remove(.push)
        run.handle(.pushed(.nothing(nextDue: nil)))
        #expect(!run.machine.isCaughtUp)
        while !run.working.contains(.pull) { run.step() }
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
    }

    @Test func `Q3 a pull does not count if the device lost the server after requesting it`() {
        var run = caughtUp()
        run.handle(.poked)
        run.handle(.online(false))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.phase != .offline)
        #expect(!run.machine.isCaughtUp)
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
    }

    @Test func `Q3 a stream that cannot be reopened counts as a loss, even during disk trouble`() {
        var run = caughtUp()
        run.handle(.foreground)
        run.finish(.push, .pushed(.failed(.device("The database is busy."), rows: 1, units: 1)))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
        for _ in 0..<RetrySchedule.promptAttempts { run.finish(.stream, .streamEnded(.transient)) }
        #expect(!run.machine.isCaughtUp)
        #expect(run.working.contains(.pull))
    }

    @Test func `Q3 device trouble during a push does not hide a failed pull`() {
        var run = caughtUp()
        run.handle(.poked)
        run.finish(.push, .pushed(.failed(.device("The database is busy."), rows: 1, units: 1)))
        run.finish(.pull, .pulled(.failed(.transient)))
        #expect(run.machine.phase == .deviceTrouble(message: "The database is busy."))
        #expect(!run.machine.isCaughtUp)
    }

    @Test func `S11 rows that wait for pages are checked after the last page`() {
        var run = MachineRun(seed: 1)
        run.handle(.started([:]))
        run.finish(.push, .pushed(.sent(needsPull: true)))
        run.finish(.push, .pushed(.nothing(nextDue: .seconds(1))))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.working.contains(.pull), "the page may have been made before the push")
        run.finish(.push, .pushed(.nothing(nextDue: .seconds(1))))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.working.contains(.push) && !run.machine.isSettled)
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        #expect(run.machine.isSettled)
    }

    @Test func `P11 a device with a space in trouble has not caught up, and asks again within a minute`() {
        var run = caughtUp()
        run.handle(.poked)
        run.finish(.push, .pushed(.nothing(nextDue: nil)))
        run.finish(.pull, .pulled(.page(hasMore: false, lacksSpaces: true)))
        #expect(!run.machine.isCaughtUp)
        #expect(run.machine.phase == .idle)
        #expect(run.working.isEmpty)
        while !run.working.contains(.pull) { run.step() }
        #expect(run.now <= .seconds(60))
        run.finish(.pull, .pulled(.page(hasMore: false)))
        #expect(run.machine.isCaughtUp)
    }
}
