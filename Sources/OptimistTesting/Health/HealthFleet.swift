// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
import OptimistHealth
public import OptimistSession
@_spi(Internals) public import OptimistWire

/// Simulated installations of an app that store and send their health with the real code, to any server.
///
/// A seed determines the versions, the ends of launches, clock errors, and network losses. The fleet records the truth,
/// for comparison with a server's figures.
///
/// ```swift
/// var fleet = HealthFleet(app: "campus", at: folder, server: server, transport: transport, seed: 1)
/// try await fleet.run(installs: 50, launches: 6, versions: [.init("1.0.1", crashRate: 0.2), .init("1.0.2", crashRate: 0.02)])
/// ```
@_spi(Internals) public struct HealthFleet: Sendable {
    /// A version of the app, and its failure rates.
    public struct Version: Sendable {
        public var name: String
        /// The chance that a launch crashes, between 0 and 1.
        public var crashRate: Double
        /// The chance that a launch is killed in the foreground, between 0 and 1. The sum of both chances is at most 1.
        public var killRate: Double
        /// The signatures of its crashes, all equally likely. Must not be empty.
        public var signatures: [CrashSignature]

        /// Creates a version. By default, its crashes are a forced unwrap at sign-in.
        public init(
            _ name: String, crashRate: Double, killRate: Double = 0.05,
            signatures: [CrashSignature] = [HealthFleet.crashAtSignIn]
        ) {
            self.name = name
            self.crashRate = crashRate
            self.killRate = killRate
            self.signatures = signatures
        }
    }

    /// The true figures of the installations in a run.
    public struct Truth: Sendable, Equatable {
        public struct Figures: Sendable, Equatable {
            public var people: Set<Int> = []
            public var crashedPeople: Set<Int> = []
            public var launches = 0
            public var crashes = 0
            public var kills = 0
            public var unsentEnds = 0
        }
        public struct Met: Sendable, Equatable {
            public var people: Set<Int> = []
            public var count = 0
            public var unsent = 0
        }
        public var versions: [String: Figures] = [:]
        public var signatures: [String: Met] = [:]
    }

    public static let crashAtSignIn = CrashSignature(
        kind: "Fatal error", message: "Unexpectedly found nil while unwrapping an Optional value",
        frames: [
            .init(
                image: "5a4a2ccb", offset: 4_666, function: "LoginViewModel.loginMember()", file: "Login.swift",
                line: 41)
        ])

    public var app: String
    /// The folder for the installations' files.
    public var folder: URL
    public var server: URL
    /// The transport for reports. The fleet drops some requests and answers, and sends some requests twice.
    public var transport: any Transport
    /// The chance that a request or its answer is lost, between 0 and 1. Default: 0.3.
    public var lossRate = 0.3
    /// The day around which each installation is first launched. Clock errors move it by up to a day.
    public var start: Date

    private let seed: UInt64

    public init(
        app: String, at folder: URL, server: URL, transport: any Transport, seed: UInt64,
        start: Date = Date(timeIntervalSinceNow: -10 * 86_400)
    ) {
        self.app = app
        self.folder = folder
        self.server = server
        self.transport = transport
        self.seed = seed
        self.start = start
    }

    /// Simulates installations, one after another, until the server has received everything they counted.
    ///
    /// - Parameters:
    ///   - installs: The number of installations.
    ///   - launches: The maximum number of launches of each installation. Each is launched at least once.
    ///   - versions: The versions in order. An installation starts with any of them and may update to later ones.
    /// - Returns: The true figures.
    /// - Throws: `OptimistError` if the folder cannot be written to; `CancellationError`, even while the server does
    ///   not answer.
    public func run(installs: Int, launches: Int, versions: [Version]) async throws -> Truth {
        var truth = Truth()
        for install in 0..<installs {
            try await run(install, launches: launches, versions, &truth)
        }
        return truth
    }

    private func run(_ install: Int, launches: Int, _ versions: [Version], _ truth: inout Truth) async throws {
        var random = SplitMix64(seed: seed &* 1_000_003 &+ UInt64(install))
        let shelf = ReportShelf()
        let network = BadNetwork(base: transport, lossRate: lossRate, seed: random.next())
        let directory = folder.appending(path: "install-\(install)")
        let clockError = Double(Int.random(in: -1...1, using: &random)) * 86_400
        var time = start.addingTimeInterval(clockError + Double.random(in: 0..<86_400, using: &random))
        var version = Int.random(in: versions.indices, using: &random)
        var killed: (version: String, isUnsent: Bool)?
        for launch in 0..<Int.random(in: 1...max(1, launches), using: &random) {
            let isUpdate = launch > 0 && version + 1 < versions.count && Double.random(in: 0..<1, using: &random) < 0.3
            if isUpdate { version += 1 }
            // An update replaces the running version without a kill.
            if let killed, !isUpdate { truth.killed(killed.version, isUnsent: killed.isUnsent) }
            killed = nil
            let one = versions[version]
            let process = Int32.random(in: 100..<140, using: &random)
            let health = try open(directory, one, shelf, network, time, process)
            truth.launched(install, one.name)
            try await settle(health, &random)
            let isUnsent = Bool.random(using: &random)
            if isUnsent { health.record(unsentRows: 3) }
            let drawn = Double.random(in: 0..<1, using: &random)
            if drawn < one.crashRate {
                let signature = one.signatures.randomElement(using: &random) ?? Self.crashAtSignIn
                shelf.add(process: process, date: time.addingTimeInterval(60), signature)
                truth.crashed(install, one.name, signature, isUnsent: isUnsent)
            } else if drawn < one.crashRate + one.killRate {
                killed = (one.name, isUnsent)
            } else if Bool.random(using: &random) {
                health.enteredBackground()
            } else {
                health.willTerminate()
            }
            time += Double.random(in: 120..<86_400, using: &random)
        }
        if let killed { truth.killed(killed.version, isUnsent: killed.isUnsent) }
        try await sendEverything(directory, versions[version], shelf, network, time, install, &truth)
    }

    /// Counts the end of the last launch, and sends until the server has confirmed everything.
    private func sendEverything(
        _ directory: URL, _ version: Version, _ shelf: ReportShelf, _ network: BadNetwork, _ time: Date, _ install: Int,
        _ truth: inout Truth
    ) async throws {
        let health = try open(directory, version, shelf, network, time, 99)
        truth.launched(install, version.name)
        try await health.countEarlierLaunches()
        while await !health.sendOnce() { try Task.checkCancellation() }
        health.willTerminate()
    }

    private func open(
        _ directory: URL, _ version: Version, _ shelf: ReportShelf, _ network: BadNetwork, _ time: Date,
        _ process: Int32
    ) throws -> AppHealth {
        let configuration = HealthConfiguration(
            app: app, salt: "fleet", version: AppVersion(version.name, build: "1"), at: directory,
            server: server,
            allowsPlainHTTPToPrivateAddresses: true, sources: [shelf])
        return try AppHealth(
            configuration, transport: network, dependencies: Dependencies(now: { time }), process: process, boot: "boot"
        )
    }

    /// Does nothing, counts, or counts and sends.
    private func settle(_ health: AppHealth, _ random: inout SplitMix64) async throws {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: break
        case 1: try await health.countEarlierLaunches()
        default:
            try await health.countEarlierLaunches()
            _ = await health.sendOnce()
        }
    }
}

extension HealthFleet.Truth {
    fileprivate mutating func launched(_ install: Int, _ version: String) {
        versions[version, default: Figures()].launches += 1
        versions[version, default: Figures()].people.insert(install)
    }

    fileprivate mutating func crashed(_ install: Int, _ version: String, _ signature: CrashSignature, isUnsent: Bool) {
        versions[version, default: Figures()].crashes += 1
        versions[version, default: Figures()].crashedPeople.insert(install)
        if isUnsent { versions[version, default: Figures()].unsentEnds += 1 }
        signatures[signature.group, default: Met()].count += 1
        signatures[signature.group, default: Met()].people.insert(install)
        if isUnsent { signatures[signature.group, default: Met()].unsent += 1 }
    }

    fileprivate mutating func killed(_ version: String, isUnsent: Bool) {
        versions[version, default: Figures()].kills += 1
        if isUnsent { versions[version, default: Figures()].unsentEnds += 1 }
    }
}

private final class ReportShelf: CrashSource {
    private let kept = Mutex<(reports: [CrashReport], count: Int)>(([], 0))

    func add(process: Int32, date: Date, _ signature: CrashSignature) {
        kept.withLock { kept in
            kept.count += 1
            kept.reports.append(
                CrashReport(id: "\(kept.count)", kind: .crash, process: process, date: date, signature: signature))
        }
    }

    /// Includes reports that were counted already.
    func reports() -> [CrashReport] { kept.withLock { $0.reports } }
}

/// Drops requests and answers, and delivers requests twice and out of order.
private final class BadNetwork: Transport {
    private let base: any Transport
    private let lossRate: Double
    private let state: Mutex<(random: SplitMix64, former: TransportRequest?)>

    init(base: any Transport, lossRate: Double, seed: UInt64) {
        self.base = base
        self.lossRate = lossRate
        state = Mutex((SplitMix64(seed: seed), nil))
    }

    private enum Fate { case lost, answerLost, twice, afterFormer, delivered }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (fate, former) = state.withLock { state in
            let drawn = Double.random(in: 0..<1, using: &state.random)
            let former = state.former
            state.former = request
            let fate: Fate =
                switch drawn / max(lossRate, 0.000_1) {
                case ..<0.4: .lost
                case ..<0.8: .answerLost
                case ..<0.9: .twice
                case ..<1: .afterFormer
                default: .delivered
                }
            return (fate, former)
        }
        switch fate {
        case .lost: throw TransportError(.unreachable, .notSent)
        case .twice: _ = try await base.send(request)
        case .afterFormer:
            // Delivers the previous report again.
            let answer = try await base.send(request)
            if let former { _ = try await base.send(former) }
            return answer
        default: break
        }
        let answer = try await base.send(request)
        if fate == .answerLost { throw TransportError(.broken, .maybeProcessed) }
        return answer
    }
}
