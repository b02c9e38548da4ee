// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Copies the app's health from a directory to PostgreSQL.
@Suite(.postgres, .timeLimit(.minutes(20)))
struct HealthOnPostgresTests {
    private let report = HealthReport(
        app: "campus", install: "i",
        totals: [
            HealthTotals(
                version: "1.0.1", build: "7", day: 20_833, launches: 5, abruptEnds: 2, unsentEnds: 1, crashes: 2,
                signatures: [SignatureTotal(signature: CrashSignature(kind: "trap"), count: 2, unsent: 1)])
        ])

    private func opening(_ database: PostgresDatabase) -> PostgresOpening {
        PostgresOpening(database: database, logger: SharedDatabase.quiet)
    }

    @Test func `A6 a copy includes the health totals`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-copy-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let truth: HealthSums
        do {
            let server = try await OptimistServer(
                configuration: ServerConfiguration(
                    port: 0, storage: .directory(directory), schema: .planner, logger: SharedDatabase.quiet))
            defer { server.storage.close() }
            _ = try await server.storage.health.keep(report, limits: HealthSettings(app: "campus"))
            truth = try await server.storage.health.sums(of: nil)
        }
        let database = try SharedDatabase.make()
        _ = try await EmbeddedCopy(from: directory, to: opening(database)).run { _ in }
        #expect(truth.versions.map(\.launches) == [5])
        #expect(try await opening(database).healthSums(of: nil) == truth)
    }
}
