// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore
import Testing

@testable import Optimist

/// How many rows the engine sends and requests at once on a slow network.
extension SyncMachineTests {
    @Test func `S9 a push that fails after a long time is halved, unless it was never sent`() {
        for (isSent, limits) in [(true, [1_000, 500, 250]), (false, [1_000, 1_000, 1_000])] {
            var run = MachineRun(seed: 1)
            run.handle(.started([:]))
            for _ in 0..<2 {
                run.now += SyncMachine.longRequest
                let rows = isSent ? run.rowLimits.last ?? 0 : 0
                run.finish(.push, .pushed(.failed(.transient, rows: rows, units: rows)))
                while !run.working.contains(.push) { run.step() }
            }
            #expect(run.rowLimits == limits)
        }
    }

    @Test func `R7 pages that take too long are halved, and grow again after a success`() {
        var run = MachineRun(seed: 1)
        run.handle(.started([:], SyncMachine.Limits(page: 4_000)))
        for _ in 0..<2 {
            run.now += SyncMachine.longRequest
            run.finish(.pull, .pulled(.failed(.transient)))
        }
        while !run.working.contains(.pull) { run.step() }
        run.finish(.pull, .pulled(.page(hasMore: true)))
        run.finish(.pull, .pulled(.failed(.transient)))
        #expect(run.pageLimits == [4_000, 2_000, 1_000, 2_000, 2_000])
    }

    @Test func `S9 the first push of a run starts at the row limit of the previous run`() {
        var run = MachineRun(seed: 1)
        run.handle(.started([:], SyncMachine.Limits(push: 250)))
        run.finish(.push, .pushed(.sent(needsPull: false)))
        #expect(run.rowLimits == [250, 500])
    }
}
