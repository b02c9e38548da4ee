// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistHealth

/// How a launch learns how the previous one ended.
@Suite(.timeLimit(.minutes(20)))
struct LaunchTests {
    let app = Installation()

    /// Launches the app, runs `use`, and returns the end that the next launch reports.
    private func end(
        _ version: String = "1.0.1", then next: String = "1.0.1", boot: String = "a", crashes: Bool = false,
        _ use: (AppHealth) -> Void = { _ in }
    ) async throws -> LaunchEnd? {
        do { use(try app.launch(version, process: 41)) }
        if crashes { app.shelf.add(process: 41, at: app.now) }
        return try await app.launch(next, process: 42, boot: boot).countEarlierLaunches()
    }

    @Test func `A1 the first launch reports no previous end`() async throws {
        let health = try app.launch()
        #expect(health.previousEnd == nil)
        #expect(try await health.countEarlierLaunches() == nil)
    }

    @Test func `A1 an app that announced its end, or was in the background, ended normally`() async throws {
        #expect(try await end { $0.willTerminate() } == .normal)
        #expect(try await end { $0.enteredBackground() } == .normal)
    }

    @Test func `A1 an app that ended in the foreground was killed, with the reason it recorded`() async throws {
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

    @Test func `A1 an update or a system restart does not count as a kill`() async throws {
        #expect(try await end("1.0.1", then: "1.0.2") == .updated)
        #expect(try await end(boot: "b") == .systemRestarted)
        #expect(app.totals.map(\.abruptEnds) == [0, 0])
    }

    @Test func `A1 a crash report turns any end into a crash`() async throws {
        for use: @Sendable (AppHealth) -> Void in [{ _ in }, { $0.enteredBackground() }] {
            guard case .crashed(let report) = try await end(crashes: true, use) else {
                Issue.record("The end is not a crash.")
                return
            }
            #expect(report.signature == .forcedUnwrap)
        }
        // There was one kill in between.
        #expect(app.totals.map(\.crashes) == [2])
        #expect(app.totals.map(\.abruptEnds) == [3])
    }

    @Test func `A1 a marker that is only partly on the disk is ignored`() throws {
        do { _ = try app.launch(process: 1) }
        let file = app.directory.appending(path: "launches")
        try Data(Data(contentsOf: file).prefix(100)).write(to: file)
        #expect(try app.launch(process: 2).previousEnd == nil)
    }

    @Test func `A1 a crash loop is counted although no launch lived long enough to count`() async throws {
        for process in 1...200 { _ = try app.launch(process: Int32(process)) }
        try await app.launch(process: 201).countEarlierLaunches()
        #expect(app.totals.map(\.launches) == [201])
        #expect(app.totals.map(\.abruptEnds) == [200])
    }

    @Test func `A1 an uncounted launch is judged by the launch right after it`()
        async throws
    {
        for (version, boot) in [("1.0.1", "a"), ("1.0.1", "a"), ("1.0.2", "b")] {
            _ = try app.launch(version, boot: boot)
        }
        try await app.launch("1.0.2", boot: "b").countEarlierLaunches()
        // The first and third launches were killed. The second ended because the device restarted.
        #expect(app.totals.map(\.launches) == [2, 2])
        #expect(app.totals.map(\.abruptEnds) == [1, 1])
    }

    @Test func `A1 a second process is refused, and the first continues`() throws {
        let first = try app.launch()
        #expect { _ = try app.launch() } throws: { ($0 as? OptimistError)?.code == .healthInUse }
        first.willTerminate()
    }

    @Test func `A1 an unwritable directory is reported`() throws {
        try Data().write(to: app.directory)
        #expect { _ = try app.launch() } throws: { ($0 as? OptimistError)?.code == .healthUnavailable }
    }

    @Test func `A2 unreadable totals are not replaced, and the launch is counted later`() async throws {
        do { try await app.launch().countEarlierLaunches() }
        let file = app.directory.appending(path: "totals.json")
        let aside = app.directory.appending(path: "aside")
        try FileManager.default.moveItem(at: file, to: aside)
        // A folder in place of the file cannot be read.
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

    @Test func `A4 when health is off, no data is kept, and earlier data is deleted`() async throws {
        do { try await app.launch().countEarlierLaunches() }
        #expect(!app.totals.isEmpty)
        let health = try app.launch(isOn: false)
        #expect(try await health.countEarlierLaunches() == nil)
        health.record(unsentRows: 1)
        await health.run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: app.directory.path).isEmpty)
    }

    /// The median, because a busy machine delays single launches.
    @Test func `A1 the launch marker takes at most 2 ms`() throws {
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
