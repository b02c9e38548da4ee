// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
import OptimistLoopback
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// The operator's routes: `/metrics`, pages under `/admin`, their data as JSON under `/admin/api`, and the app's
/// health.
///
/// Every user of this machine can read all data here. It does not include passwords, hashes or tokens. The only change
/// that these routes allow is to end a session.
struct AdminRoutes: Sendable {
    let storage: OpenedStorage
    let accounts: Accounts
    let pokes: Pokes
    let schema: Schema
    /// The most rows of a space.
    let spaceRows: Int
    let refusals: RecentRefusals?
    /// Nil if the process uses another metrics backend, or none.
    let metrics: PrometheusMetrics?
    let watch: FigureWatch?
    let now: @Sendable () -> Date

    func add(to router: Router<LocalRequestContext>) {
        router.add(middleware: AdminAnswerFields())
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: CleanTarget())
        router.add(middleware: OwnOrigin(pages: ["/admin", "/admin/", "/health"]))
        router.get("/metrics") { _, _ in try await metricsText() }
        AdminPages.add(to: router.group("/admin"))
        HealthRoutes(storage.health).add(to: router)
        let api = router.group("/admin/api")
        api.get("/overview") { _, _ in Response(body: try await overview().bytes) }
        api.get("/refusals") { _, _ in Response(body: recentRefusals.bytes) }
        addAccounts(to: api)
        addSpaces(to: api)
        api.get("/webhooks") { _, _ in
            Response(body: JSON.object(["webhooks": .array(try await accounts.webhooks())]).bytes)
        }
        api.get("/keys") { _, _ in
            Response(body: JSON.object(["keys": .array(try await accounts.serviceKeys())]).bytes)
        }
    }

    private func metricsText() async throws -> Response {
        guard let metrics else {
            throw RequestProblem(
                type: "about:blank", status: 404,
                detail: "This process does not collect metrics for this page: it uses another metrics backend, or none."
            )
        }
        await watch?.look()
        return Response(type: "text/plain; version=0.0.4; charset=utf-8", body: Array(metrics.text.utf8))
    }

    // MARK: - The server

    private func overview() async throws -> JSON {
        let figures = try await storage.figures()
        return [
            "time": .string(now().utcText), "epoch": .string(storage.rows.epoch),
            "trouble": await storage.trouble().map(JSON.string) ?? .null,
            "schema": [
                "id": .string(schema.id), "version": .int(Int64(schema.version)),
                "types": .array(schema.types.keys.sorted().map(JSON.string)),
            ],
            "openStreams": .int(Int64(pokes.count)), "waiting": .int(Int64(figures.waiting)),
            "databaseBytes": figures.databaseBytes.map(JSON.int) ?? .null,
            "logBytes": figures.logBytes.map(JSON.int) ?? .null,
            "sinceStart": metrics.map(Self.totals) ?? .null,
            "pool": figures.pool.map { ["size": .int(Int64($0.size)), "busy": .int(Int64($0.busy))] } ?? .null,
        ]
    }

    /// Totals since the process started.
    private static func totals(_ metrics: PrometheusMetrics) -> JSON {
        func total(_ name: String) -> JSON { .int(metrics.total(of: "optimist_\(name)_total")) }
        return [
            "requests": total("http_requests"), "pushes": total("pushes"), "rowsAccepted": total("rows_accepted"),
            "rowsRefused": total("rows_refused"), "rowsConflicting": total("rows_conflicting"),
        ]
    }

    private var recentRefusals: JSON {
        let all = refusals?.all ?? []
        return [
            "limit": .int(Int64(RecentRefusals.limit)),
            "refusals": .array(
                all.map { refusal in
                    [
                        "time": .string(refusal.time.utcText), "route": .string(refusal.route),
                        "status": .int(Int64(refusal.status)), "code": .string(refusal.code),
                        "account": refusal.account.map(JSON.string) ?? .null,
                        "type": refusal.row.map { .string($0.type) } ?? .null,
                        "id": refusal.row.map { .string($0.id) } ?? .null,
                    ]
                }),
        ]
    }
}
