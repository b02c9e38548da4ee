// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession
@_spi(Internals) import OptimistTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HealthFleetTests {
    @Test func `simulated users whose server is down stop when they are cancelled`() async throws {
        let phone = Installation()
        defer { withExtendedLifetime(phone) {} }
        let nobody = InMemoryTransport { _ in throw TransportError(.refused, .notSent) }
        let fleet = HealthFleet(
            app: "campus", at: phone.directory, server: try #require(URL(string: "https://example.org")),
            transport: nobody, seed: 7)
        let people = Task { try await fleet.run(installs: 1, launches: 1, versions: [.init("1.0.1", crashRate: 0)]) }
        while nobody.requests.count < 3 { await Task.yield() }
        people.cancel()
        await #expect(throws: CancellationError.self) { try await people.value }
    }
}
