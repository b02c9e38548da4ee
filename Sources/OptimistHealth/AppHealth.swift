// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import Logging
public import OptimistCore
public import OptimistSession

/// Records how the launches of an app ended, and reports totals to a server.
///
/// Create it before anything else, so that it also notices a crash during startup. It works without a store and without
/// a signed-in user.
///
/// ```swift
/// let health = try AppHealth(
///     HealthConfiguration(
///         app: "campus", salt: "campus-7f3a", at: support.appending(path: "health"), server: server,
///         sources: [MetricKitSource()]),
///     transport: URLSessionTransport(), reachability: PathReachability())
/// Task { await health.run() }
/// ```
///
/// Call ``enteredBackground()`` and ``enteredForeground()``: the system may end an app in the background at any time,
/// and that does not count as a kill. All functions may be called on any thread.
public final class AppHealth: Sendable {
    let configuration: HealthConfiguration
    let transport: (any Transport)?
    let reachability: (any Reachability)?
    let dependencies: Dependencies
    let logger: Logger
    private let kept: Kept?

    private struct Kept: Sendable {
        var log: LaunchLog
        var file: LedgerFile
        var earlier: [LaunchRecord]
        var slot: Int
    }

    /// The current launch and its slot in the log.
    private let present: Mutex<(record: LaunchRecord, slot: Int)>
    private let ledger: Mutex<(value: HealthLedger?, previousEnd: LaunchEnd?)>

    /// With this many records in the log, `init` counts them itself.
    private static let maxSlots = 64

    /// Writes the launch marker, which takes less than 2 ms on most devices, and reads how the previous launch ended.
    ///
    /// - Parameters:
    ///   - configuration: Where the files are and where totals are sent.
    ///   - transport: Carries the totals. Nil: nothing is sent.
    ///   - reachability: Reports the current network. Nil: every network counts as online and free of charge.
    ///   - dependencies: The clock, ids and randomness.
    ///   - logger: Receives `debug` lines without ids.
    /// - Throws: `OptimistError` with code `healthUnavailable` if the directory cannot be created or written,
    ///   `healthInUse` if another process uses it. The app can continue without this object.
    public convenience init(
        _ configuration: HealthConfiguration, transport: (any Transport)?, reachability: (any Reachability)? = nil,
        dependencies: Dependencies = Dependencies(), logger: Logger = Logger(label: "optimist.health")
    ) throws {
        try self.init(
            configuration, transport: transport, reachability: reachability, dependencies: dependencies, logger: logger,
            process: ProcessInfo.processInfo.processIdentifier, boot: BootID.present)
    }

    /// - Parameters:
    ///   - process: The id of this process.
    ///   - boot: An id of the current boot.
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
        // Count now, because in a crash loop no launch lives long enough to call `countEarlierLaunches`.
        if let kept, kept.slot >= Self.maxSlots { try count([], kept) }
    }

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

    // MARK: - Reports from the app

    /// Notes that the app is on screen. This is the initial state.
    public func enteredForeground() { change { $0.state = .foreground } }

    /// Notes that the app has left the screen, so the system may end it at any time.
    public func enteredBackground() {
        change { record in
            record.state = .background
            record.strain = nil
        }
    }

    /// Notes that the app is about to terminate in an orderly way.
    public func willTerminate() { change { $0.state = .finished } }

    /// Notes how many rows the server does not have yet, so that a crash report shows whether data was unsent.
    ///
    /// A negative number counts as zero. Call it when the number changes. An app with a store finds it in `SyncStatus`.
    public func record(unsentRows: Int) {
        if max(0, unsentRows) != self.unsentRows { change { $0.unsentRows = max(0, unsentRows) } }
    }

    /// Notes a low memory warning or an unresponsive main thread, as the likely cause of a kill. Nil: the strain is
    /// over.
    public func record(_ strain: Strain?) { change { $0.strain = strain } }

    var unsentRows: Int { present.withLock { $0.record.unsentRows } }

    private func change(_ change: (inout LaunchRecord) -> Void) {
        guard let kept else { return }
        present.withLock { present in
            change(&present.record)
            kept.log.write(present.record, at: present.slot)
        }
    }

    // MARK: - The previous launch

    /// How the previous launch ended, as far as known. Nil if this is the first launch, or if health is off.
    ///
    /// A crash counts as a kill until ``countEarlierLaunches()`` has read its report.
    public var previousEnd: LaunchEnd? { ledger.withLock { $0.previousEnd } }

    /// Reads crash reports, and durably counts them and the earlier launches. ``run()`` calls it.
    ///
    /// - Returns: How the previous launch ended. Nil if this is the first launch, or if health is off.
    /// - Throws: `OptimistError` with code `healthUnavailable` if the totals cannot be written. The launches and
    ///   reports are then counted later.
    @discardableResult
    public func countEarlierLaunches() async throws -> LaunchEnd? {
        guard let kept else { return nil }
        var found: [(source: Int, reports: [CrashReport])] = []
        for (index, source) in configuration.sources.enumerated() {
            do { found.append((index, try await source.reports())) } catch {
                logger.debug("Crash reports cannot be read", metadata: ["error.type": "\(type(of: error))"])
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
            // Compare each launch with the one after it: a later launch may follow an update or a restart.
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

    /// A device that is set up from a backup is another installation.
    private func excludeFromBackup() {
        #if canImport(Darwin)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var directory = configuration.folder
            try? directory.setResourceValues(values)
        #endif
    }

    /// The installation's public name and the totals that the server does not have.
    func unsent() -> (install: String, totals: [HealthLedger.KeptTotals])? {
        ledger.withLock { ledger in
            ledger.value.map { (InstallationName.of($0.installation, salt: configuration.salt), $0.unsent) }
        }
    }

    /// Notes which totals the server has. If the file cannot be written, they are sent again, which changes nothing.
    func noteSent(_ totals: [HealthLedger.KeptTotals]) {
        guard let kept else { return }
        ledger.withLock { ledger in
            ledger.value?.sent(totals)
            if let value = ledger.value { try? kept.file.replace(with: value) }
        }
    }

    var isOn: Bool { kept != nil }
}
