// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistProxy
import OptimistServer
import OptimistSession
@_spi(Internals) import OptimistTesting

/// The end of the third story: the crash at sign-in is fixed.
extension StoryStage {
    /// The number of groups that use the app at the same time, and their size.
    private static let groups = 10
    private static let people = 5

    /// The app's code reports the health of fifty people over the network, and the server calculates the figures.
    func crashFree() async throws -> StoryFigure {
        let proxy = try await FaultProxy.start(upstreams: [("127.0.0.1", try await server.port)])
        let outcome: Result<Void, any Error>
        do {
            try await proxy.setConditions(proxy.conditions.applying(NetworkConditionsPatch(profile: network)))
            _ = try await within(StoryBench.patience) { try await use(at: proxy.port) }
            outcome = .success(())
        } catch { outcome = .failure(error) }
        await proxy.shutdown()
        try outcome.get()
        let versions = try await server.health().versions
        func share(_ name: String) -> Double? {
            versions.first { $0.version == version(name) }.flatMap(\.crashFreePeople.value).map { 100 * $0 }
        }
        return StoryFigure(measure: .crashFree, network: network, oldWay: share("1.0.1"), optimist: share("1.0.2"))
    }

    /// Each network has separate builds, so that the server counts its people separately.
    private func version(_ name: String) -> String { "\(name)+\(network.rawValue)" }

    private func use(at port: Int) async throws {
        guard let address = URL(string: "http://127.0.0.1:\(port)") else {
            throw OptimistError(.badLabData, "The port \(port) does not form a valid address.")
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-people-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<Self.groups {
                let own = folder.appending(path: "\(number)")
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
                var fleet = HealthFleet(
                    app: SimulatedPeople.app, at: own, server: address, transport: AsyncHTTPClientTransport.shared,
                    seed: UInt64(number))
                // Only the network loses requests.
                fleet.lossRate = 0
                let people = fleet
                group.addTask {
                    _ = try await people.run(
                        installs: Self.people, launches: SimulatedPeople.launches,
                        versions: SimulatedPeople.versions(version))
                }
            }
            try await group.waitForAll()
        }
    }
}
