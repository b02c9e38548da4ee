// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@testable import OptimistCore

@Suite("Simulated devices", .timeLimit(.minutes(20)))
struct DeviceTests {
    /// The app from the article's example.
    typealias Note = NoteTests.Note
    static let (app, schema) = (NoteTests.app, NoteTests.schema)

    @Test(arguments: 1...TestForm.of(short: 2, full: 5) as ClosedRange<UInt64>)
    func `each device's notes reach the other, whatever is lost or killed`(seed: UInt64) throws {
        let simulation = try Simulation(seed: seed, app: Self.app, schema: Self.schema)
        defer { simulation.end() }
        let devices = [simulation.device("phone"), simulation.device("tablet")]
        for device in devices { device.link.conditions = .flaky }
        for round in 0..<10 {
            for device in devices {
                try device.write { db in try Note(id: UUID(), text: "\(device.name) \(round)").insert(db) }
            }
        }
        devices[0].kill(afterJobs: Int(seed) * 7)
        devices[1].mount?.crash(atChange: Int(seed) * 3)
        simulation.run(for: .seconds(120))
        simulation.server.kill()
        try simulation.settle()
        for device in devices {
            #expect(try device.read { try Note.fetchCount($0) } == 20)
        }
    }

    @Test func `G3 the app's checks hold on each device, and on the server for an app without them`() throws {
        var app = Self.app
        app.rowValidation = RowValidation(["note": { $0["text"] == "" ? RowFault("empty", "A note has words.") : nil }])
        let simulation = try Simulation(seed: 1, app: app, schema: Self.schema)
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
        #expect(throws: OptimistError.self) { try phone.write { db in try Note(id: UUID(), text: "").insert(db) } }
        tablet.app = Self.app
        tablet.losePower()
        try simulation.settle()
        try tablet.write { db in try Note(id: UUID(), text: "").insert(db) }
        try simulation.settle()
        #expect(try tablet.perform { try await $0.store.rejections().map(\.code) } == ["empty"])
    }

    @Test func `W1 a completed write survives a power loss, and a write on a dead process throws`() throws {
        let simulation = try Simulation(seed: 1, app: Self.app, schema: Self.schema)
        defer { simulation.end() }
        let phone = simulation.device("phone")
        phone.link.conditions = .offline
        try phone.write { db in try Note(id: UUID(), text: "kept").insert(db) }
        phone.losePower()
        #expect(throws: SimulationError.self) { try phone.read { try Note.fetchCount($0) } }
        try simulation.settle()
        #expect(try phone.read { try String.fetchAll($0, sql: "SELECT text FROM note") } == ["kept"])
    }

    @Test func `W1 killing the process at any point after a write loses nothing`() throws {
        /// - Returns: How many jobs the writing process ran in the two seconds after the write.
        func run(killedAfter jobs: Int?) throws -> Int {
            let simulation = try Simulation(seed: 1, app: Self.app, schema: Self.schema)
            defer { simulation.end() }
            let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
            let process = try #require(phone.launch?.process)
            try phone.write { db in try Note(id: UUID(), text: "kept").insert(db) }
            let before = process.jobs
            if let jobs { phone.kill(afterJobs: jobs) }
            simulation.run(for: .seconds(2))
            let done = process.jobs - before
            #expect(process.hasDiedAtCount == (jobs != nil))
            try simulation.settle()
            for device in [phone, tablet] {
                #expect(try device.read { try String.fetchAll($0, sql: "SELECT text FROM note") } == ["kept"])
            }
            return done
        }
        let jobs = try run(killedAfter: nil)
        try #require(jobs > 50)
        let step = TestForm.of(short: 97, full: 37, soak: 1)
        for job in stride(from: 0, to: jobs, by: step) { _ = try run(killedAfter: job) }
    }

    @Test func `Q3 the status is updated once the disk is readable again, although no data changes`() throws {
        let simulation = try Simulation(seed: 1, app: Self.app, schema: Self.schema)
        defer { simulation.end() }
        let phone = simulation.device("phone")
        phone.link.conditions = .offline
        try phone.write { db in try Note(id: UUID(), text: "unsent").insert(db) }
        simulation.run(for: .seconds(60))
        let launch = try #require(phone.launch)
        phone.mount?.fail(.ioError, on: [.open, .read], times: 2)
        let told = Mutex<[SyncStatus]>([])
        launch.process.spawn { for await status in launch.engine.statuses { told.withLock { $0.append(status) } } }
        simulation.run(for: .milliseconds(500))
        let early = told.withLock { $0 }
        #expect(early.isEmpty)
        #expect(phone.disk.met(.ioError) > 0)
        simulation.run(for: .seconds(5))
        let pending = told.withLock { $0.map(\.counts.pending) }
        #expect(pending == [1])
    }

    @Test func `settling fails with an error while a row stays pending`() throws {
        let simulation = try Simulation(seed: 1, app: Self.app, schema: Self.schema) { _ in
            SetError("serverFail", "Not today.")
        }
        defer { simulation.end() }
        let phone = simulation.device("phone")
        try phone.write { db in try Note(id: UUID(), text: "stuck").insert(db) }
        #expect(throws: SimulationError.self) { try simulation.settle(within: .seconds(120)) }
    }

    /// Each device's state in the error of a simulation that does not settle.
    private func standings(_ simulation: Simulation) -> [String] {
        let error = #expect(throws: SimulationError.self) { try simulation.settle(within: .seconds(300)) }
        guard case .notSettled(let standings)? = error else { return [] }
        return standings
    }

    @Test func `a device with a revoked session does not count as settled while it lacks rows`() throws {
        let simulation = try Simulation(seed: 1, app: Self.app, schema: Self.schema)
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
        try simulation.settle()
        simulation.server.revoke(device: tablet.name)
        try phone.write { db in try Note(id: UUID(), text: "for both").insert(db) }
        let found = standings(simulation)
        #expect(found.first == "phone: settled")
        #expect(found.last?.hasPrefix("tablet: has not received all of note: ") == true)
        #expect(found.last?.contains("revoked") == true)
        tablet.signIn()
        try simulation.settle()
        #expect(try tablet.read { try Note.fetchCount($0) } == 1)
    }

    @Test func `a device whose app is too old for a table does not count as settled while it lacks rows`() throws {
        var app = Self.app
        app.schemaVersion = 2
        let schema = Schema(id: "notes", version: 2, minClientVersion: 2, types: Self.schema.types)
        let simulation = try Simulation(seed: 1, app: app, schema: schema)
        defer { simulation.end() }
        let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
        tablet.app = Self.app
        tablet.kill()
        try phone.write { db in try Note(id: UUID(), text: "for both").insert(db) }
        let found = standings(simulation)
        #expect(found.first == "phone: settled")
        #expect(found.last?.hasPrefix("tablet: has not received all of note: ") == true)
        #expect(found.last?.contains("withheld: [\"note\": Optimist.WithheldReason.upgradeRequired]") == true)
        tablet.app = app
        tablet.kill()
        try simulation.settle()
        #expect(try tablet.read { try Note.fetchCount($0) } == 1)
    }
}
