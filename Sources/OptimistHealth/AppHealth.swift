// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import Logging
public import OptimistCore
public import OptimistSession

/// Keeps how the launches of an app ended, and tells a server in totals.
///
/// Make it before anything else, so that a crash at the start is noticed too. It needs no store and no user.
///
/// ```swift
/// let health = try AppHealth(
///     HealthConfiguration(
///         app: "campus", salt: "campus-7f3a", at: support.appending(path: "health"), server: server,
///         sources: [MetricKitSource()]),
///     reachability: PathReachability())
/// Task { await health.run() }
/// ```
///
/// Tell it when the app enters the background and the foreground: in the background the system may end an app at any time,
/// and that is no kill. All functions may be called on any thread. None throws once the object is made.
public final class AppHealth: Sendable {
    let configuration: HealthConfiguration
    let transport: (any Transport)?
    let reachability: (any Reachability)?
    let dependencies: Dependencies
    let logger: Logger
    /// Nil: it is off.
    private let kept: Kept?

    /// The files, and what is in memory of them.
    private struct Kept: Sendable {
        var log: LaunchLog
        var file: LedgerFile
        /// The launches before this one that are not counted yet.
        var earlier: [LaunchRecord]
        var slot: Int
    }

    /// The present launch, as it is in the log, and its place there.
    private let present: Mutex<(record: LaunchRecord, slot: Int)>
    private let ledger: Mutex<(value: HealthLedger?, previousEnd: LaunchEnd?)>

    /// The most records that the log keeps before they are counted at the start.
    private static let maxSlots = 64

    /// Writes the launch marker, which takes less than 2 ms on most devices, and reads how the launch before ended.
    ///
    /// - Parameters:
    ///   - configuration: Where it is kept, and where it is sent.
    ///   - transport: Carries the totals. Nil: nothing is sent.
    ///   - reachability: Says which network there is. Nil: every network counts as free.
    ///   - dependencies: The clock, ids and chance.
    ///   - logger: Gets `debug` lines without ids.
    /// - Throws: `OptimistError` with code `healthUnavailable` if the directory cannot be made or written, `healthInUse` if
    ///   another process has it. The app can go on without.
    public convenience init(
        _ configuration: HealthConfiguration, transport: (any Transport)?, reachability: (any Reachability)? = nil,
        dependencies: Dependencies = Dependencies(), logger: Logger = Logger(label: "optimist.health")
    ) throws {
        try self.init(
            configuration, transport: transport, reachability: reachability, dependencies: dependencies, logger: logger,
            process: ProcessInfo.processInfo.processIdentifier, boot: BootID.present)
    }

    /// - Parameters:
    ///   - process: The process that this launch is.
    ///   - boot: Names the time since the system was last started.
    package init(
        _ configuration: HealthConfiguration, transport: (any Transport)?, reachability: (any Reachability)? = nil,
        dependencies: Dependencies, logger: Logger = Logger(label: "optimist.health"), process: Int32, boot: String
    ) throws {
        self.configuration = configuration
        self.transport = transport
        self.reachability = reachability
        self.dependencies = dependencies
        self.logger = logger
        let record = LaunchRecord(
            id: dependencies.makeID(), version: configuration.version,
            beganAt: dependencies.now().timeIntervalSince1970, process: process, boot: boot)
        kept = try configuration.isOn ? Self.open(configuration.folder, for: record) : nil
        present = Mutex((record, kept?.slot ?? 0))
        let end = kept?.earlier.last.map { LaunchEnd(of: $0, before: record) }
        ledger = Mutex((nil, end))
        if !configuration.isOn { Self.deleteFiles(in: configuration.folder) }
        // A crash loop that never gets further is counted all the same.
        if let kept, kept.slot >= Self.maxSlots { try count([], kept) }
    }

    /// Opens the log and writes the marker behind what is there.
    private static func open(_ directory: URL, for record: LaunchRecord) throws -> Kept {
        let path = directory.path
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            try? FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let log = try LaunchLog(path + "/launches")
        let earlier = log.read()
        let slot = log.slotCount
        log.write(record, at: slot)
        return Kept(log: log, file: LedgerFile(path: path + "/totals.json"), earlier: earlier, slot: slot)
    }

    private static func deleteFiles(in directory: URL) {
        for name in ["launches", "totals.json", "totals.json.new"] {
            try? FileManager.default.removeItem(at: directory.appending(path: name))
        }
    }

    // MARK: - What the app says

    /// The app is on its user's screen. This is so from the start, unless the app says otherwise.
    public func enteredForeground() { change { $0.state = .foreground } }

    /// The app has left its user's screen. From now on the system may end it at any time.
    public func enteredBackground() {
        change { record in
            record.state = .background
            record.strain = nil
        }
    }

    /// The app is about to end in an orderly way.
    public func willTerminate() { change { $0.state = .finished } }

    /// Notes how many rows the server does not have yet, so that a crash tells whether it met unsent data. A negative
    /// number counts as zero. Call it when the number changes: with the store, `SyncStatus` tells it.
    public func record(unsentRows: Int) {
        if max(0, unsentRows) != self.unsentRows { change { $0.unsentRows = max(0, unsentRows) } }
    }

    /// Notes what the app is under, so that a kill tells the cause: the system has warned of low memory, or the main thread
    /// does not answer. Nil: it is over.
    public func record(_ strain: Strain?) { change { $0.strain = strain } }

    /// How many rows were unsent when it was last noted.
    var unsentRows: Int { present.withLock { $0.record.unsentRows } }

    private func change(_ change: (inout LaunchRecord) -> Void) {
        guard let kept else { return }
        present.withLock { present in
            change(&present.record)
            kept.log.write(present.record, at: present.slot)
        }
    }

    // MARK: - What is known

    /// How the launch before this one ended, as far as it is known. Nil: this is the first, or it is off.
    ///
    /// A crash counts as a kill until ``countEarlierLaunches()`` has read the report of it.
    public var previousEnd: LaunchEnd? { ledger.withLock { $0.previousEnd } }

    /// Reads the reports of crashes, and counts them and the launches before this one, durably. ``run()`` does so too.
    ///
    /// - Returns: How the launch before this one ended. Nil: this is the first, or it is off.
    /// - Throws: `OptimistError` with code `healthUnavailable` if the totals cannot be written. They are counted later then.
    @discardableResult
    public func countEarlierLaunches() async throws -> LaunchEnd? {
        guard let kept else { return nil }
        var found: [(source: Int, reports: [CrashReport])] = []
        for (index, source) in configuration.sources.enumerated() {
            do { found.append((index, try await source.reports())) } catch {
                logger.debug("Reports of crashes cannot be read", metadata: ["error.type": "\(type(of: error))"])
            }
        }
        try count(found, kept)
        for (index, reports) in found where !reports.isEmpty { await configuration.sources[index].forget(reports) }
        return previousEnd
    }

    private func count(_ found: [(source: Int, reports: [CrashReport])], _ kept: Kept) throws {
        try ledger.withLock { ledger in
            let record = present.withLock { $0.record }
            let former = try ledger.value ?? kept.file.read()
            var value = former ?? HealthLedger(installation: dependencies.makeID())
            // Each by the launch that followed it: an update or a restart may have come later.
            for (earlier, next) in zip(kept.earlier, kept.earlier.dropFirst() + [record]) {
                value.ended(earlier, before: next)
            }
            value.began(record)
            for (source, reports) in found {
                for report in reports {
                    let launch = value.take(report, from: "\(source)")
                    if launch != nil, launch == kept.earlier.last?.id { ledger.previousEnd = .crashed(report) }
                }
            }
            ledger.value = value
            if value != former { try kept.file.replace(with: value) }
            if former == nil { excludeFromBackup() }
        }
        present.withLock { present in
            guard present.slot > 0 else { return }
            kept.log.keep(only: present.record)
            present.slot = 0
        }
    }

    /// Another device that is set up from a backup is another installation.
    private func excludeFromBackup() {
        #if canImport(Darwin)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var directory = configuration.folder
            try? directory.setResourceValues(values)
        #endif
    }

    /// The name of the installation and the totals that the server does not have.
    func unsent() -> (install: String, totals: [HealthLedger.KeptTotals])? {
        ledger.withLock { ledger in
            ledger.value.map { (InstallationName.of($0.installation, salt: configuration.salt), $0.unsent) }
        }
    }

    /// Notes what the server has. If that cannot be written, it is sent once more later, which changes nothing.
    func noteSent(_ totals: [HealthLedger.KeptTotals]) {
        guard let kept else { return }
        ledger.withLock { ledger in
            ledger.value?.sent(totals)
            if let value = ledger.value { try? kept.file.replace(with: value) }
        }
    }

    /// Whether anything is kept.
    var isOn: Bool { kept != nil }
}
