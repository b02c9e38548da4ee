// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import OptimistCore

/// The server processes on a shared database, the database, and failovers.
struct SharedServersRoutes {
    let servers: SharedServers?
    let park: DevicePark

    func add(to router: Router<some RequestContext>) {
        let group = router.group("lab/servers")
        group.get { _, _ in try await answer() }
        group.post(":number/kill") { _, context in
            try await process(context).kill()
            return try await answer()
        }
        group.post(":number/start") { _, context in
            try await process(context).start()
            return try await answer()
        }
        let database = router.group("lab/database")
        database.put("standby") { request, context in
            let wanted = try await request.decode(as: Standby.self, context: context)
            try await present().ownPair().follow(wanted.following)
            return try await answer()
        }
        database.post("standby") { _, _ in
            try await present().ownPair().replaceStandby()
            return try await answer()
        }
        database.post("fail-over") { _, _ in
            try await present().failOver()
            return try await answer()
        }
    }

    /// Waits until all phones are open, because a phone needs its server to open.
    private func present() async throws -> SharedServers {
        guard let servers else {
            throw OptimistError(
                .badLabRequest, "The lab has one server. To run three on one database, start the lab with --database.")
        }
        await park.opened()
        return servers
    }

    private func process(_ context: some RequestContext) async throws -> ServerProcess {
        try await present().process(try context.parameters.require("number", as: Int.self))
    }

    private func answer() async throws -> SharedServersAnswer {
        guard let servers else { return SharedServersAnswer() }
        return try await SharedServersAnswer(servers, park)
    }
}

private struct Standby: Decodable { var following: DatabasePair.Following }

struct SharedServersAnswer: ResponseEncodable, Sendable {
    struct Server: Encodable {
        var number: Int
        var port: Int
        var running: Bool
        var kills: Int
    }

    /// The lab's own database. There is no standby after a failover.
    struct Database: Encodable {
        var primary: String
        var following: DatabasePair.Following?
    }

    struct Outcome: Encodable {
        var acknowledged: Int
        var lost: Int
        var healed: Int
        var missing: Int
        var promotedMs: Double

        init(_ failover: Failover) {
            acknowledged = failover.acknowledged
            lost = failover.lost.count
            healed = failover.healed
            missing = failover.missing.count
            promotedMs = failover.duration / .milliseconds(1)
        }
    }

    var servers: [Server] = []
    var database: Database?
    /// The number of to-dos that phones consider acknowledged, and of all other to-dos.
    var acknowledged = 0
    var pending = 0
    /// The newest first.
    var failovers: [Outcome] = []

    init() {}

    init(_ shared: SharedServers, _ park: DevicePark) async throws {
        for process in shared.processes {
            servers.append(
                Server(
                    number: process.number, port: await process.port, running: await process.isRunning,
                    kills: await process.kills))
        }
        if let state = await shared.pair?.state {
            database = Database(primary: state.primary, following: state.following)
        }
        let rows = try await park.rowsBySync()
        acknowledged = rows["synced"]?.count ?? 0
        pending = (rows["pending"] ?? []).union(rows["inFlight"] ?? []).count
        failovers = await shared.outcomes().map(Outcome.init)
    }
}
