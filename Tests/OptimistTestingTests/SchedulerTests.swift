// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistTesting

@Suite("The simulated scheduler", .timeLimit(.minutes(20)))
struct SchedulerTests {
    /// Tasks that meet in an actor, sleep and yield. Returns their actions in order.
    private func course(seed: UInt64, killAfter: Int? = nil) -> (log: [Int], trace: UInt64) {
        actor Counter {
            var count = 0
            func next() -> Int {
                count += 1
                return count
            }
        }
        let scheduler = SimulatedScheduler(seed: seed)
        let process = scheduler.process("node")
        let (counter, log) = (Counter(), Log())
        let dependencies = process.dependencies(seed: seed)
        for number in 0..<20 {
            process.spawn {
                for round in 0..<3 {
                    await Task.yield()
                    log.add(number * 1000 + round * 100 + (await counter.next()))
                    try? await dependencies.clock.sleep(for: .milliseconds(number % 4))
                }
                await withTaskGroup(of: Int.self) { group in
                    for child in 0..<3 { group.addTask { child } }
                    for await child in group { log.add(-child) }
                }
            }
        }
        if let killAfter { process.kill(afterJobs: killAfter) }
        scheduler.run(for: .seconds(1))
        defer { scheduler.end([process]) }
        return (log.entries, scheduler.trace)
    }

    @Test func `the same seed repeats a run, and another seed differs`() {
        let first = course(seed: 1)
        #expect(first.log.count == 120)
        #expect(course(seed: 1) == first)
        #expect(course(seed: 2) != first)
    }

    @Test(arguments: [0, 1, 50, 100])
    func `a killed process runs no more jobs`(jobs: Int) {
        let whole = course(seed: 3).log
        let cut = course(seed: 3, killAfter: jobs).log
        #expect(cut.count < whole.count)
        #expect(cut == Array(whole.prefix(cut.count)))
    }

    @Test func `a process reports whether its job count killed it`() {
        let scheduler = SimulatedScheduler(seed: 3)
        let (counted, other) = (scheduler.process("counted"), scheduler.process("other"))
        defer { scheduler.end([counted, other]) }
        for process in [counted, other] { process.kill(afterJobs: 2) }
        other.kill()
        for process in [counted, other] {
            process.spawn { for _ in 0..<5 { await Task.yield() } }
        }
        #expect(!counted.hasDiedAtCount)
        scheduler.run(for: .seconds(1))
        #expect(counted.hasDiedAtCount && !counted.isAlive)
        #expect(!other.hasDiedAtCount && !other.isAlive)
    }

    @Test func `time jumps to the next event, so a simulated day takes no real time`() {
        let scheduler = SimulatedScheduler(seed: 4)
        let process = scheduler.process("node")
        let (dependencies, log) = (process.dependencies(seed: 4), Log())
        process.spawn {
            let start = dependencies.now()
            try? await dependencies.clock.sleep(for: .seconds(86400))
            log.add(Int(dependencies.now().timeIntervalSince(start)))
        }
        scheduler.run(for: .seconds(86399))
        #expect(log.entries.isEmpty)
        scheduler.run(for: .seconds(2))
        #expect(log.entries == [86400])
        #expect(scheduler.now == .seconds(86401))
    }

    @Test func `a cancelled sleeper wakes immediately`() {
        let scheduler = SimulatedScheduler(seed: 5)
        let process = scheduler.process("node")
        let (clock, log) = (process.dependencies(seed: 5).clock, Log())
        let task = process.spawn {
            do { try await clock.sleep(for: .seconds(9)) } catch { log.add(1) }
        }
        scheduler.after(.seconds(1)) { task.cancel() }
        scheduler.run(for: .seconds(2))
        #expect(log.entries == [1])
    }

    private final class Log: Sendable {
        private let list = Mutex<[Int]>([])
        var entries: [Int] { list.withLock { $0 } }
        func add(_ entry: Int) { list.withLock { $0.append(entry) } }
    }
}
