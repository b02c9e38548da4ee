// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistSession
import OptimistTesting
@_spi(Internals) import OptimistWire

@testable import OptimistCore
@testable import OptimistHealth

/// An installation of an app, which a test launches repeatedly.
final class Installation: Sendable {
    let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-health-\(UUID().uuidString)")
    let clock = ManualClock()
    let shelf = Shelf()
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

    deinit { try? FileManager.default.removeItem(at: directory) }

    func advance(by seconds: Double) { time.withLock { $0 += seconds } }

    var now: Date { time.withLock(\.self) }

    /// Launches the app. The previous launch must have been released.
    func launch(
        _ version: String = "1.0.1", process: Int32 = 1, boot: String = "a", isOn: Bool = true,
        sendsOnExpensiveNetworks: Bool = false, transport: (any Transport)? = nil,
        reachability: (any Reachability)? = nil
    ) throws -> AppHealth {
        advance(by: 10)
        return try AppHealth(
            HealthConfiguration(
                app: "campus", salt: "pepper", version: AppVersion(version, build: "7"), at: directory,
                server: URL(string: "https://sync.example.org"), isOn: isOn,
                sendsOnExpensiveNetworks: sendsOnExpensiveNetworks, sources: [shelf]),
            transport: transport, reachability: reachability,
            dependencies: Dependencies(clock: clock, now: { [self] in now }, seed: 1), process: process, boot: boot)
    }

    /// The stored totals.
    var totals: [HealthTotals] {
        (try? LedgerFile(path: directory.appending(path: "totals.json").path).read())?.totals.map(\.totals) ?? []
    }
}

/// Crash reports that a test adds.
final class Shelf: CrashSource {
    private let kept = Mutex<[CrashReport]>([])

    func add(
        _ kind: CrashReport.Kind = .crash, process: Int32, at date: Date?, id: String = UUID().uuidString,
        _ signature: CrashSignature = .forcedUnwrap
    ) {
        kept.withLock {
            $0.append(CrashReport(id: id, kind: kind, process: process, date: date, signature: signature))
        }
    }

    var count: Int { kept.withLock { $0.count } }

    func reports() -> [CrashReport] { kept.withLock(\.self) }

    func forget(_ reports: [CrashReport]) {
        kept.withLock { $0.removeAll { report in reports.contains { $0.id == report.id } } }
    }
}

extension CrashSignature {
    static let forcedUnwrap = CrashSignature(
        kind: "Fatal error", message: RuntimeFailure.foundNil,
        frames: [
            Frame(image: "5a4a", offset: 10, function: "LoginViewModel.loginMember()", file: "Login.swift", line: 3)
        ])
}
