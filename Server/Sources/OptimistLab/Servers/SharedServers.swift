// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import OptimistServer

/// Three server processes on one database, and what was done to them.
actor SharedServers {
    nonisolated let processes: [ServerProcess]
    /// Nil: the database is not the lab's, so the lab does not kill it.
    nonisolated let pair: DatabasePair?
    private let park: DevicePark
    private let own: OptimistServer
    private var failovers: [Failover] = []
    private var isFailingOver = false

    /// - Parameters:
    ///   - processes: They serve already.
    ///   - own: The lab's own server on the same database.
    init(_ processes: [ServerProcess], pair: DatabasePair?, park: DevicePark, own: OptimistServer) {
        self.processes = processes
        self.pair = pair
        self.park = park
        self.own = own
    }

    /// - Throws: `OptimistError` with code `notInLab`.
    nonisolated func process(_ number: Int) throws -> ServerProcess {
        guard let process = processes.first(where: { $0.number == number }) else {
            throw OptimistError(.notInLab, "There is no server \(number).")
        }
        return process
    }

    /// The lab's own primary and standby.
    ///
    /// - Throws: `OptimistError` with code `badLabRequest`.
    nonisolated func ownPair() throws -> DatabasePair {
        guard let pair else {
            throw OptimistError(
                .badLabRequest,
                "The lab kills no database but its own. Start it with --database own, and it makes a primary and a standby."
            )
        }
        return pair
    }

    /// Kills the primary, makes the standby the primary, and counts what that has cost.
    ///
    /// Servers stand still meanwhile, so that no device heals anything before it is counted.
    func failOver() async throws {
        let pair = try ownPair()
        guard !isFailingOver else { throw OptimistError(.badLabRequest, "The standby is taking over already.") }
        isFailingOver = true
        defer { isFailingOver = false }
        for process in processes { await process.freeze() }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await failOver(pair)) } catch { outcome = .failure(error) }
        for process in processes { await process.goOn() }
        try outcome.get()
    }

    private func failOver(_ pair: DatabasePair) async throws {
        let duration = try await pair.failOver()
        let acknowledged = try await park.rows { $0.sync == "synced" }
        failovers.append(Failover(acknowledged: acknowledged, held: try await held(), duration: duration))
    }

    /// What became of each failover until now, the last one first. The database may not answer during a failover and shortly
    /// after it: then this is what was known before.
    func outcomes() async -> [Failover] {
        try? await look()
        return failovers.reversed()
    }

    /// Looks which rows that a failover lost are there again.
    private func look() async throws {
        guard failovers.contains(where: { !$0.missing.isEmpty }), !isFailingOver else { return }
        // A failover that begins during the reading has its own rows.
        let known = failovers.indices
        let wanted = try await park.rows { _ in true }
        let held = try await held()
        for index in known { failovers[index].look(wanted: wanted, held: held) }
    }

    /// The living to-dos of all accounts in the database.
    private func held() async throws -> Set<AccountRow> {
        var held: Set<AccountRow> = []
        for account in try await own.accounts() {
            for row in try await own.rows(account: account.id, type: LabTodo.databaseTableName, limit: .max) {
                held.insert(AccountRow(account: account.id, id: row.id))
            }
        }
        return held
    }
}
