// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import OptimistServer

/// Three server processes on one database, and the results of failovers.
actor SharedServers {
    nonisolated let processes: [ServerProcess]
    /// Nil if the database is not the lab's own.
    nonisolated let pair: DatabasePair?
    private let park: DevicePark
    private let own: OptimistServer
    private var failovers: [Failover] = []
    private var isFailingOver = false

    /// - Parameters:
    ///   - processes: Running processes.
    ///   - own: The lab's main server, on the same database.
    init(_ processes: [ServerProcess], pair: DatabasePair?, park: DevicePark, own: OptimistServer) {
        self.processes = processes
        self.pair = pair
        self.park = park
        self.own = own
    }

    nonisolated func process(_ number: Int) throws -> ServerProcess {
        guard let process = processes.first(where: { $0.number == number }) else {
            throw OptimistError(.notInLab, "The server \(number) does not exist.")
        }
        return process
    }

    /// - Throws: `OptimistError` with code `badLabRequest` if the database is not the lab's own.
    nonisolated func ownPair() throws -> DatabasePair {
        guard let pair else {
            throw OptimistError(
                .badLabRequest,
                "The lab only kills its own database. Start it with --database own to create a primary and a standby."
            )
        }
        return pair
    }

    /// Fails over and counts the lost rows. The server processes are paused, so that no device can restore a row before
    /// it is counted.
    func failOver() async throws {
        let pair = try ownPair()
        guard !isFailingOver else { throw OptimistError(.badLabRequest, "The standby is already taking over.") }
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

    /// The newest first. If the database does not answer, as during a failover, returns the last known results.
    func outcomes() async -> [Failover] {
        try? await look()
        return failovers.reversed()
    }

    private func look() async throws {
        guard failovers.contains(where: { !$0.missing.isEmpty }), !isFailingOver else { return }
        // A failover that starts during these reads is not included.
        let known = failovers.indices
        let wanted = try await park.rows { _ in true }
        let held = try await held()
        for index in known { failovers[index].look(wanted: wanted, held: held) }
    }

    /// The to-dos of all accounts in the database, without deleted ones.
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
