// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistCore
import OptimistProxy
import Testing

@testable import OptimistHealth
@testable import OptimistLab
@testable import OptimistServer

/// How a phone's app ends, and what its next launch reports.
@Suite(.timeLimit(.minutes(20)))
struct LaunchEndTests {
    private func todo(_ text: String) -> LabTodo { LabTodo(id: UUID(), content: text, date: "2026-01-01") }

    @Test func `A1 A4 the next launch distinguishes a crash, a kill and a memory kill, and no unsent row is lost`()
        async throws
    {
        try await Workbench.with({ $0.health = HealthSettings(app: "lab") }) { bench in
            let park = try DevicePark(
                folder: bench.folder, server: bench.server, serverPorts: [try await bench.server.port],
                healthApp: "lab",
                logger: Workbench.quiet)
            let device = try await park.add("A", account: "planner")
            #expect(await device.foundEnd == nil, "it is the first launch")
            try await device.setNetwork(NetworkConditionsPatch(profile: .offline))
            let endings: [(LaunchEnding, FoundEnd.Kind)] = [
                (.crash, .crashed), (.user, .killed), (.memory, .outOfMemory), (.quietly, .normal), (.crash, .crashed),
            ]
            for (number, (ending, kind)) in endings.enumerated() {
                _ = try await device.phone().add(todo("Before \(ending)"))
                while await device.health?.present?.unsentRows != number + 1 { await Task.yield() }
                await device.end(ending)
                try await device.start()
                let found = try #require(await device.foundEnd)
                #expect(found.kind == kind && found.unsent == number + 1 && found.lost == 0, "\(found)")
                #expect((found.function == "LoginViewModel.loginMember()") == (kind == .crashed))
            }
            try await device.setNetwork(NetworkConditionsPatch(profile: .online))
            for await status in try await device.phone().sync.statuses where status.counts.pending == 0 { break }
            let account = try await park.serverAccount(named: "planner")
            #expect(try await bench.server.rows(account: account, type: "todo").count == endings.count)
            // The report is sent in the background.
            var versions = try await bench.server.health().versions
            while versions.first?.crashes != 2 { versions = try await bench.server.health().versions }
            #expect(versions.map(\.version) == ["1.0.1"] && versions.first?.kills == 2)
            #expect(versions.first?.unsentEnds == 4)
            await park.stopAll()
        }
    }
}
