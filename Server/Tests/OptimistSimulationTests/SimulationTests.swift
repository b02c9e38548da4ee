// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSimulation
import Testing

@Suite("The simulation", .timeLimit(.minutes(5)))
struct SimulationTests {
    @Test func `the same seed gives the same trace`() {
        let plan = Plan(drawnFrom: 1)
        #expect(WorldRun.run(plan).trace == WorldRun.run(plan).trace)
    }
}
