// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct HealthFleetTests {
    @Test func `people whose server is gone go when they are cancelled`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let nobody = Nobody()
        let fleet = HealthFleet(
            app: "campus", folder: folder, server: try #require(URL(string: "https://example.org")),
            transport: nobody, seed: 7)
        let people = Task { try await fleet.run(installs: 1, launches: 1, versions: [.init("1.0.1", crashRate: 0)]) }
        while nobody.requests.withLock({ $0 }) < 3 { await Task.yield() }
        people.cancel()
        await #expect(throws: CancellationError.self) { try await people.value }
    }

    private final class Nobody: Transport {
        let requests = Mutex(0)

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            requests.withLock { $0 += 1 }
            throw TransportError(.refused, .notSent)
        }
    }
}
