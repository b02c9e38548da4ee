// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistTesting

package struct RunReport: Sendable {
    package var plan: Plan
    /// The broken promises. Empty if the run passed.
    package var findings: [String]
    /// Equal for two runs that took the same course.
    package var trace: UInt64
    package var virtualTime: Duration
    package var jobs: Int
    /// How often each kind of fault occurred.
    package var reached: [String: Int]
    package var writes: Int
    /// Empty unless logging is on.
    package var log: [String]
}

package enum WorldRun {
    /// The time limit of a healed world.
    static let patience = Duration.seconds(1800)
    /// The most jobs in 30 seconds of a world that has been healed for two minutes. Such a world only waits, so more jobs
    /// mean that devices try again and again without a pause.
    static let mostJobs = 3_000

    /// Runs a plan and judges it. Blocks its thread, which executes everything.
    ///
    /// - Parameters:
    ///   - isLogging: Whether to keep a log, which slows the run down.
    ///   - database: The URL of a PostgreSQL database for the server's rows.
    /// - Throws: `OptimistError` if the database cannot be reached.
    package static func run(_ plan: Plan, isLogging: Bool = false, database: String) throws -> RunReport {
        let app = app(of: plan)
        let data = try ServerOnPostgres(
            url: database, seed: plan.seed ^ 0x5E7, persons: app.persons, schema: app.schema(app.latestVersion))
        return run(World(plan, app, isLogging: isLogging, data: data))
    }

    package static func run(_ plan: Plan, isLogging: Bool = false) -> RunReport {
        run(World(plan, app(of: plan), isLogging: isLogging))
    }

    private static func app(of plan: Plan) -> UsersApp {
        plan.persons.map { SharingPeople.app(persons: $0) } ?? OnePerson.app
    }

    private static func run(_ world: World) -> RunReport {
        world.inhabit(by: world.plan.persons == nil ? OnePerson(world) : SharingPeople(world))
        world.schedule()
        world.keepRunning()
        world.lookNowAndThen()
        world.runToTheEnd()
        let report = world.report()
        world.end()
        return report
    }
}

extension World {
    /// The first finding ends the run, because later findings may be its consequences.
    fileprivate func runToTheEnd() {
        scheduler.run(for: .seconds(plan.seconds)) { hasFindings }
        if hasFindings { return }
        heal()
        let start = scheduler.now
        var isQuiet = false
        while !isQuiet, scheduler.now - start < WorldRun.patience {
            let steps = scheduler.steps
            scheduler.run(for: .seconds(30))
            isQuiet = (try? users?.isQuiet()) ?? false
            let jobs = scheduler.steps - steps
            if !isQuiet, scheduler.now - start > .seconds(120), jobs > WorldRun.mostJobs {
                find("busy: \(jobs) jobs in 30 seconds of a healed world that is not settled (S5)")
                return logStatuses()
            }
        }
        if !isQuiet {
            find("stuck: not settled \(WorldRun.patience) after all faults were healed")
        }
        followStatuses()
        // A lane that has just failed may wait a minute for its next attempt, and its status says so.
        let rest = scheduler.now + .seconds(120)
        repeat { scheduler.run(for: .seconds(5)) } while !isEveryAppContent && scheduler.now < rest
        do { try users?.judgeTheEnd() } catch { find("the judges cannot read the server: \(error)") }
        if hasFindings { logStatuses() }
    }

    private var hasFindings: Bool { withState { !$0.findings.isEmpty } }

    func report() -> RunReport {
        let writes = users?.writeCount ?? 0
        return withState { state in
            var reached = state.reached
            for device in devices {
                for (trouble, count) in device.link.troubles { reached[trouble.rawValue, default: 0] += count }
            }
            for (kind, count) in troublesMet() where count > 0 { reached[kind.rawValue, default: 0] += count }
            return RunReport(
                plan: plan, findings: state.findings, trace: scheduler.trace, virtualTime: scheduler.now,
                jobs: scheduler.steps, reached: reached, writes: writes, log: state.log)
        }
    }

    private func troublesMet() -> [(Plan.Kind, Int)] {
        func met(_ fault: DiskFault) -> Int { devices.reduce(0) { $0 + $1.disk.met(fault) } }
        func killed(_ processes: [SimulatedProcess]) -> Int { processes.count { $0.hasDiedAtCount } }
        return [
            (.kill, killed(devices.flatMap(\.processes))), (.serverKill, killed(server.processes)),
            (.ioError, met(.ioError)), (.diskFull, met(.full)), (.busy, met(.busy)),
            (.diskCrash, devices.reduce(0) { $0 + $1.disk.crashesMet }),
            (.serverIOError, data.disk.met(.ioError)), (.serverDiskFull, data.disk.met(.full)),
            (.serverBusy, data.disk.met(.busy)), (.serverDiskCrash, data.disk.crashesMet),
        ]
    }

    func end() {
        withState { $0.users = nil }
        scheduler.end(devices.flatMap(\.processes) + server.processes)
    }
}
