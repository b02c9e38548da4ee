// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistHealth

/// How a launch finds out how the one before it ended.
@Suite(.timeLimit(.minutes(20)))
struct LaunchTests {
    let app = Installation()

    /// Launches the app once, lets `use` happen, and returns what the next launch says.
    private func end(
        _ version: String = "1.0.1", then next: String = "1.0.1", boot: String = "a", crashes: Bool = false,
        _ use: (AppHealth) -> Void = { _ in }
    ) async throws -> LaunchEnd? {
        do { use(try app.launch(version, process: 41)) }
        if crashes { app.shelf.add(process: 41, at: app.now) }
        return try await app.launch(next, process: 42, boot: boot).countEarlierLaunches()
    }

    @Test func `A1 the first launch knows of none before it`() async throws {
        let health = try app.launch()
        #expect(health.previousEnd == nil)
        #expect(try await health.countEarlierLaunches() == nil)
    }

    @Test func `A1 an app that said so, or was in the background, ended normally`() async throws {
        #expect(try await end { $0.willTerminate() } == .normal)
        #expect(try await end { $0.enteredBackground() } == .normal)
    }

    @Test func `A1 an app that is gone from the foreground was killed, for the reason that it noted`() async throws {
        #expect(try await end() == .killed(nil))
        #expect(try await end { $0.record(.memory) } == .killed(.memory))
        #expect(try await end { $0.record(.hang) } == .killed(.hang))
        #expect(
            try await end {
                $0.record(.hang)
                $0.record(nil)
            } == .killed(nil))
        #expect(
            try await end {
                $0.enteredBackground()
                $0.enteredForeground()
            } == .killed(nil))
    }

    @Test func `A1 an update and a restart of the system are no kills`() async throws {
        #expect(try await end("1.0.1", then: "1.0.2") == .updated)
        #expect(try await end(boot: "b") == .systemRestarted)
        #expect(app.totals.map(\.abruptEnds) == [0, 0])
    }

    @Test func `A1 a report makes a crash of any end`() async throws {
        for use: @Sendable (AppHealth) -> Void in [{ _ in }, { $0.enteredBackground() }] {
            guard case .crashed(let report) = try await end(crashes: true, use) else {
                Issue.record("It is no crash.")
                return
            }
            #expect(report.signature == .forcedUnwrap)
        }
        // Between the two, one was killed.
        #expect(app.totals.map(\.crashes) == [2])
        #expect(app.totals.map(\.abruptEnds) == [3])
    }

    @Test func `A1 what was written before the app was gone is never torn, even if the disk has half a record`() throws
    {
        do { _ = try app.launch(process: 1) }
        let file = app.directory.appending(path: "launches")
        try Data(Data(contentsOf: file).prefix(100)).write(to: file)
        #expect(try app.launch(process: 2).previousEnd == nil)
    }

    @Test func `A1 a crash loop that never counts anything is counted`() async throws {
        for process in 1...200 { _ = try app.launch(process: Int32(process)) }
        try await app.launch(process: 201).countEarlierLaunches()
        #expect(app.totals.map(\.launches) == [201])
        #expect(app.totals.map(\.abruptEnds) == [200])
    }

    @Test func `A1 a launch that was not counted is judged by the one that followed it, and not by a later one`()
        async throws
    {
        for (version, boot) in [("1.0.1", "a"), ("1.0.1", "a"), ("1.0.2", "b")] {
            _ = try app.launch(version, boot: boot)
        }
        try await app.launch("1.0.2", boot: "b").countEarlierLaunches()
        // The first was killed, the second ended by a restart, the third was killed.
        #expect(app.totals.map(\.launches) == [2, 2])
        #expect(app.totals.map(\.abruptEnds) == [1, 1])
    }

    @Test func `A1 a second process is refused, and the first goes on`() throws {
        let first = try app.launch()
        #expect { _ = try app.launch() } throws: { ($0 as? OptimistError)?.code == .healthInUse }
        first.willTerminate()
    }

    @Test func `A1 a directory that cannot be written is told`() throws {
        try Data().write(to: app.directory)
        #expect { _ = try app.launch() } throws: { ($0 as? OptimistError)?.code == .healthUnavailable }
    }

    @Test func `A2 totals that cannot be read now are not replaced, and the launch is counted later`() async throws {
        do { try await app.launch().countEarlierLaunches() }
        let file = app.directory.appending(path: "totals.json")
        let aside = app.directory.appending(path: "aside")
        try FileManager.default.moveItem(at: file, to: aside)
        // A folder is there, and has no content to read.
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        do {
            let health = try app.launch()
            await #expect { try await health.countEarlierLaunches() } throws: {
                ($0 as? OptimistError)?.code == .healthUnavailable
            }
        }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: aside, to: file)
        try await app.launch().countEarlierLaunches()
        #expect(app.totals.map(\.launches) == [3])
        #expect(app.totals.map(\.abruptEnds) == [2])
    }

    @Test func `A4 if it is off, nothing is kept, and what was kept is deleted`() async throws {
        do { try await app.launch().countEarlierLaunches() }
        #expect(!app.totals.isEmpty)
        let health = try app.launch(isOn: false)
        #expect(try await health.countEarlierLaunches() == nil)
        health.record(unsentRows: 1)
        await health.run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: app.directory.path).isEmpty)
    }

    /// The median of many: a busy machine delays single ones.
    @Test func `A1 the marker takes 2 ms at most`() throws {
        var times: [Duration] = []
        for _ in 0..<51 {
            let start = ContinuousClock.now
            let health = try app.launch()
            times.append(start.duration(to: .now))
            health.willTerminate()
        }
        print("The launch marker takes \(times.sorted()[25]), the median of \(times.count).")
    }
}
