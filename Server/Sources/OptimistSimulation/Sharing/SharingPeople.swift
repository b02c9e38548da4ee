// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization

/// People who share rows in spaces: they come and go, get other roles, and move rows.
final class SharingPeople: Users {
    struct State {
        var history = SharedHistory()
        var writes = 0
        /// The links that the people have sent to each other.
        var links: [InvitationLink] = []
    }

    let world: World
    private let state = Mutex(State())

    init(_ world: World) {
        self.world = world
        world.server.witness = self
    }

    static func app(persons: Int) -> UsersApp {
        UsersApp(
            persons: (0..<persons).map { "person\($0)" }, app: { _ in SharedTables.app },
            schema: { _ in SharedTables.schema })
    }

    /// More rows than a world can write.
    let mostRows = 20_000

    func withState<Result: Sendable>(_ body: (inout State) throws -> sending Result) rethrows -> Result {
        try state.withLock { try body(&$0) }
    }

    var writeCount: Int { withState(\.history.writes.count) }

    // MARK: - The server and the devices

    func serverHasCommitted() throws {
        let news = try data.news(after: withState(\.history.seqs), while: server.process)
        if news.isEmpty { return }
        let before = withState(\.history)
        try withState { try $0.history.serve(news) }
        for part in news {
            for row in part.rows {
                log(
                    "server stored \(row.table):\(row.id.prefix(4)) g\(row.generation) in \(part.account) \(row.seq): "
                        + String(decoding: row.content, as: UTF8.self))
            }
        }
        for finding in SharingLaw(withState(\.history)).findings(on: news, after: before, at: scheduler.wallClock()()) {
            find(finding)
        }
    }

    func serverWentBack() throws {
        let news = try data.news(after: [:], while: nil)
        try withState { try $0.history.goBack(to: news) }
    }

    func tombstonesWerePurged() { withState { $0.history.hasForgotten = true } }

    func copied(device number: Int) -> @Sendable () -> Void {
        let next = withState(\.history.writes.count)
        return { [self] in withState { $0.history.forgive(device: number, since: next) } }
    }

    // MARK: - Events

    func act(_ event: Plan.Event) {
        guard let launch = devices[event.device].launch else { return }
        switch event.kind {
        case .write, .move: write(event, launch)
        default:
            launch.process.spawn { [self] in
                do {
                    if try await carryOut(event, in: launch.store), launch.process.isAlive { reach(event.kind) }
                } catch { log("\(event.kind) of device \(event.device) has failed: \(error)") }
            }
        }
    }

    private func write(_ event: Plan.Event, _ launch: SimulatedDevice.Launch) {
        let number = withState { state in
            state.writes += 1
            return state.writes
        }
        launch.process.spawn { [self] in
            let attempt = Mutex<Int?>(nil)
            do {
                try await launch.store.write { [self] db in
                    let made = try transaction(event, number, in: db)
                    attempt.withLock { $0 = made }
                }
                guard launch.process.isAlive, let made = attempt.withLock(\.self) else { return }
                reach(event.kind)
                end(made, .returned)
            } catch {
                log("write \(number) of device \(event.device) has failed: \(error)")
                guard launch.process.isAlive, let made = attempt.withLock(\.self), let error = error as? OptimistError
                else { return }
                end(made, .failed)
                let write = withState { $0.history.writes[made] }
                // A later statement may undo a forbidden one, which is refused like any other.
                let isOneStatement = event.kind == .write && event.amount == 1
                if error.code == .readOnlySpace, isOneStatement, !write.isForbidden, !write.isEmpty {
                    find("guard: write \(number) of device \(event.device) was refused, and no role forbids it (P6)")
                }
            }
        }
    }

    private func end(_ number: Int, _ outcome: SharedHistory.Outcome) {
        let write = withState { state in
            state.history.ended(number, outcome)
            return state.history.writes[number]
        }
        if write.isForbidden, outcome == .returned {
            find("guard: write \(number) of device \(write.device) is forbidden, and was not refused (P6)")
        }
    }

    private func transaction(_ event: Plan.Event, _ number: Int, in db: Database) throws -> Int {
        var transaction = SharedTransaction(
            tag: "d\(event.device)w\(number)", statements: event.amount, draw: event.draw)
        let (before, readOnly) = (try SharedRows(db), try Self.readOnlySpaces(db))
        try event.kind == .move ? transaction.move(in: db) : transaction.run(in: db)
        let after = try SharedRows(db)
        let now = Int64(scheduler.wallClock()().timeIntervalSince1970 * 1000)
        var write = SharedHistory.Write(event.device, at: now, before, after)
        write.person = world.app.person(of: event.device)
        write.isForbidden = !readOnly.isDisjoint(with: Self.spaces(changedFrom: before, to: after))
        let made = write
        let attempt = withState { $0.history.attempt(made) }
        log("write \(number) of device \(event.device): \(write)")
        return attempt
    }

    /// The spaces where the person may only read, as far as the device has heard.
    private static func readOnlySpaces(_ db: Database) throws -> Set<String> {
        let sql = """
            SELECT lower(hex(id)) FROM optimist_spaces WHERE isJoined AND role = 'reader'
            AND member NOT IN (SELECT id FROM optimist_edit
            WHERE tbl = (SELECT number FROM optimist_table WHERE name = 'optimist_member'))
            """
        return try String.fetchSet(db.cachedStatement(sql: sql))
    }

    private static func spaces(changedFrom before: SharedRows, to after: SharedRows) -> Set<String> {
        let names = Set(before.rows.keys).union(after.rows.keys).filter {
            before.rows[$0] != after.rows[$0] || before.points[$0] != after.points[$0]
        }
        return Set(names.flatMap { [before.space(of: $0), after.space(of: $0)].compactMap(\.self) })
    }
}

extension SharedHistory.Write: CustomStringConvertible {
    var description: String {
        let changed = texts.sorted { $0.key < $1.key }.map { "\(inserted.contains($0) ? "+" : "~")\($0) \($1)" }
        let moved = places.sorted { $0.key < $1.key }.map { "\($0) in \(($1 ?? "own").prefix(4))" }
        let counted = points.sorted { $0.key < $1.key }.map { "\($0) += \($1)" }
        return (deleted.sorted().map { "-\($0)" } + changed + moved + counted).joined(separator: ", ")
    }
}
