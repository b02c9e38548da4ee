// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization

/// One person with several devices, whose rows no other person sees.
final class OnePerson: Users {
    struct State {
        var history = History()
        /// Whether the server has purged tombstones.
        var hasForgotten = false
        var writes = 0
    }

    let world: World
    private let state = Mutex(State())

    init(_ world: World) { self.world = world }

    static let app = UsersApp(
        latestVersion: Tables.latestVersion, app: Tables.app(version:), schema: Tables.schema(version:))

    let mostRows = Tables.idsPerTable * Tables.names.count

    func withState<Result: Sendable>(_ body: (inout State) -> sending Result) -> Result { state.withLock { body(&$0) } }

    var writeCount: Int { withState(\.history.writes.count) }

    // MARK: - The server and the devices

    func serverHasCommitted() throws {
        let seq = withState { $0.history.log.seq }
        let rows = try rows(after: seq, while: server.process)
        let versions = withState { $0.history.serve(rows) }
        for finding in oracle().findings(on: versions) { find(finding) }
        for row in rows { log("server stored \(row.name) in \(row.seq): \(World.text(row.values))") }
    }

    func serverWentBack() throws {
        let rows = try rows(after: 0, while: nil)
        withState { $0.history.serverWentBack(to: rows) }
    }

    /// Returns the person's rows that changed on the server after `seq`.
    private func rows(after seq: Int64, while process: SimulatedProcess?) throws -> [ServedRow] {
        let account = SimulatedServer.account
        let news = try data.news(after: [account: seq], while: process).first { $0.account == account }
        return try (news?.rows ?? []).map { try ServedRow($0) }
    }

    func everythingIsHealed() {}

    func tombstonesWerePurged() { withState { $0.hasForgotten = true } }

    func copied(device number: Int) -> @Sendable () -> Void {
        let next = withState(\.history.writes.count)
        return { [self] in withState { $0.history.forgive(device: number, since: next) } }
    }

    // MARK: - Writing

    func act(_ event: Plan.Event) {
        guard let launch = devices[event.device].launch else { return }
        let number = withState { state in
            state.writes += 1
            return state.writes
        }
        let at = Int64(scheduler.now / .milliseconds(1))
        launch.process.spawn { [self] in
            do {
                let attempt = try await launch.store.write { [self] db in
                    try userTransaction(event, number, at, launch.process, in: db)
                }
                guard launch.process.isAlive else { return }
                withState { $0.history.returned(attempt) }
                reach(.write)
                log("write \(number) of device \(event.device) has returned")
            } catch {
                log("write \(number) of device \(event.device) has failed: \(error)")
            }
        }
    }

    private func userTransaction(
        _ event: Plan.Event, _ number: Int, _ asked: Int64, _ process: SimulatedProcess, in db: Database
    ) throws -> Int {
        var transaction = UserTransaction(
            device: event.device, number: number, statements: event.amount, draw: event.draw)
        let (before, read) = (try Rows.all(db), try Rows.read(db))
        try transaction.run(in: db)
        let after = try Rows.all(db)
        let reborn = transaction.reborn
        let now = Int64(scheduler.wallClock()().timeIntervalSince1970 * 1000)
        let (attempt, write) = withState { state in
            let attempt = state.history.attempt(
                device: event.device, at: now, tag: "d\(event.device)w\(number)", read: read, before: before,
                after: after, reborn: reborn)
            return (attempt, state.history.writes[attempt])
        }
        log("write \(number) of device \(event.device): \(write)")
        return attempt
    }
}
