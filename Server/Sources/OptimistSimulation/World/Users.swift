// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

/// The app that the users of a world have.
struct UsersApp: Sendable {
    var latestVersion = 1
    /// Each device belongs to one of them.
    var persons = [SimulatedServer.account]
    /// The app at a version.
    var app: @Sendable (Int) -> SimulatedApp
    /// The server's schema at a version.
    var schema: @Sendable (Int) -> Schema

    func person(of device: Int) -> String { persons[device % persons.count] }
}

/// The users of a world: what they do, and the rules that hold for their rows.
protocol Users: AnyObject, Sendable {
    var world: World { get }
    /// The maximum number of rows of an account or a device.
    var mostRows: Int { get }

    /// Carries out a user's event.
    func act(_ event: Plan.Event)
    /// Reads the server's commits since the last call.
    func serverHasCommitted() throws
    /// Called after the server was restored to an earlier state.
    func serverWentBack() throws
    /// Called after the server may have purged tombstones.
    func tombstonesWerePurged()
    /// Returns a closure that records the restore of a device to its present file.
    func copied(device number: Int) -> @Sendable () -> Void

    /// Called when all faults have ended.
    func everythingIsHealed()

    /// Judges a device that has changed since the last call.
    func judgeNow(_ device: SimulatedDevice, _ db: Database) throws
    /// Whether everything is sent, and all devices equal the server.
    func isQuiet() throws -> Bool
    /// Judges a world that is quiet, or should be.
    func judgeTheEnd() throws
    /// The number of recorded writes.
    var writeCount: Int { get }
}

extension Users {
    var plan: Plan { world.plan }
    var scheduler: SimulatedScheduler { world.scheduler }
    var server: SimulatedServer { world.server }
    var data: any ServerData { world.data }
    var devices: [SimulatedDevice] { world.devices }
    var isHealed: Bool { world.isHealed }

    func find(_ finding: String) { world.find(finding) }
    func log(_ line: @autoclosure () throws -> String) rethrows { try world.log(line()) }
    func reach(_ kind: Plan.Kind) { world.reach(kind) }

    func read<Value>(_ device: SimulatedDevice, _ read: (Database) throws -> Value) throws -> Value {
        try world.read(device, read)
    }

    func look(into device: SimulatedDevice, _ judge: (Database) throws -> Void) {
        world.look(into: device, judge)
    }
}
