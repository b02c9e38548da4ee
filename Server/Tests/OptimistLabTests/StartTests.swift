// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import OptimistTesting
import Synchronization
import Testing

@testable import OptimistLab

/// What a lab reports while it starts.
@Suite(.timeLimit(.minutes(20)))
struct StartTests {
    @Test func `a slow start reports after ten seconds what it waits for, then each next step until it ends`()
        async throws
    {
        let (told, tell) = AsyncStream<String>.makeStream()
        let clock = ManualClock()
        let reminder = Reminder(clock: clock) { tell.yield($0) }
        reminder.waits(for: "its database")
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(9))
        reminder.waits(for: "its server")
        clock.advance(by: .seconds(1))
        var heard = told.makeAsyncIterator()
        #expect(await heard.next() == "its server")
        reminder.waits(for: "its server")
        reminder.waits(for: "its page")
        #expect(await heard.next() == "its page")
        reminder.end()
        reminder.waits(for: "nothing")
        tell.finish()
        #expect(await heard.next() == nil)
    }

    @Test func `a start of less than ten seconds reports nothing`() async throws {
        let told = Mutex<[String]>([])
        let clock = ManualClock()
        let reminder = Reminder(clock: clock) { what in told.withLock { $0.append(what) } }
        reminder.waits(for: "its server")
        await clock.sleepers(atLeast: 1)
        reminder.end()
        clock.advance(by: .seconds(20))
        for _ in 0..<100 { await Task.yield() }
        #expect(told.withLock { $0.isEmpty })
    }

    @Test func `a request about a phone waits until the announced phones are open, and the progress is visible`()
        async throws
    {
        try await Workbench.with({ _ in }) { bench in
            let park = try DevicePark(
                folder: bench.folder, server: bench.server,
                serverPorts: [try await bench.server.port], logger: Workbench.quiet)
            await park.announce()
            #expect(await park.opening.map(\.name) == ["A", "B"])
            #expect(await park.opening.allSatisfy { $0.step == .turn })
            let asking = Task { try await park.device("B").name }
            try await park.startAll()
            #expect(try await asking.value == "B")
            #expect(await park.opening.isEmpty)
            #expect(await park.devices.count == 2)
            await park.stopAll()
        }
    }
}
