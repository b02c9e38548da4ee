// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import Logging
import OptimistCore
package import OptimistProxy
import OptimistServer
import OptimistSession
@_spi(Internals) import OptimistTesting

/// Plays the five stories in the old way and with Optimist, over bad networks.
package struct StoryBench: Sendable {
    /// The number of rows written offline, and of requests with an expired token.
    static let rows = 5
    static let requests = 20
    static let patience = Duration.seconds(60)

    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - networks: Default: 4G, 3G and flaky.
    ///   - onFigure: Receives each figure as soon as it is measured.
    /// - Throws: `OptimistError`; `CancellationError`.
    package func run(
        on networks: [NetworkConditions.Profile] = [.fourG, .threeG, .flaky],
        onFigure: @escaping @Sendable (StoryFigure) -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-stories-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let content = try LabContent(photos: nil, cache: folder)
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                port: 0, storage: .directory(folder.appending(path: "server")), schema: .planner,
                signInBurstPerAddress: 1_000,
                gazetteer: try LabPlaces.gazetteer(in: folder),
                routes: content.routes, health: HealthSettings(app: SimulatedPeople.app, burstPerAddress: 100_000),
                logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let park = try await DevicePark(
                folder: folder, server: server, serverPorts: [server.port], logger: logger)
            let outcome: Result<Void, any Error>
            do {
                for network in networks {
                    let stage = StoryStage(park: park, server: server, network: network)
                    for measures in StoryStage.scenes {
                        for figure in try await stage.play(measures) { onFigure(figure) }
                    }
                }
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            await park.stopAll()
            await server.shutdown()
            try await group.waitForAll()
            try outcome.get()
        }
    }
}

/// Returns nil if the work fails or exceeds the limit.
func within<Result: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
    let outcome = try? await withDeadline(limit, late: CancellationError(), work)
    try Task.checkCancellation()
    return outcome
}
