// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// Counts each launch, its end and each report once, and tracks which totals the server has.
///
/// It recognizes launches and reports by id, so input that is repeated after a crash between two steps changes nothing.
struct HealthLedger: Sendable, Codable, Equatable {
    /// A random id. Only a hash of it is ever sent.
    private(set) var installation: UUID
    private(set) var totals: [KeptTotals] = []
    /// The latest launches, the newest last.
    private var launches: [KnownLaunch] = []
    private var counted: [String] = []

    struct KeptTotals: Sendable, Codable, Equatable {
        var totals: HealthTotals
        var revision = 0
        var sentRevision = 0
    }

    private struct KnownLaunch: Sendable, Codable, Equatable {
        var record: LaunchRecord
        var hasEnded = false
        var endedAbruptly = false
        var hasCrashed = false
    }

    enum Limit {
        /// Enough for one version for 90 days and some more. The oldest totals are dropped first.
        static let totals = 100
        /// The distinct signatures. Further signatures count as `CrashSignature.other`.
        static let signatures = 200
        static let launches = 100
        static let reports = 600
    }

    init(installation: UUID) { self.installation = installation }

    mutating func began(_ record: LaunchRecord) {
        guard index(of: record.id) == nil else { return }
        launches.append(KnownLaunch(record: record))
        launches.removeFirst(max(0, launches.count - Limit.launches))
        change(record) { $0.launches += 1 }
    }

    /// Counts how a launch ended, from its last record.
    mutating func ended(_ record: LaunchRecord, before next: LaunchRecord) {
        began(record)
        guard let index = index(of: record.id), !launches[index].hasEnded else { return }
        launches[index].hasEnded = true
        launches[index].record = record
        if case .killed = LaunchEnd(of: record, before: next) { countAbruptEnd(index) }
    }

    /// Counts a report of a hang, or of a crash of a launch that has ended.
    ///
    /// - Returns: The launch that crashed. Nil if no launch matches, if the report was counted before, or if it is a
    ///   hang.
    mutating func take(_ report: CrashReport, from source: String) -> UUID? {
        let id = "\(source) \(report.id)"
        guard !counted.contains(id) else { return nil }
        guard let index = launch(of: report) else { return nil }
        counted.append(id)
        counted.removeFirst(max(0, counted.count - Limit.reports))
        let record = launches[index].record
        if report.kind == .crash {
            if !launches[index].endedAbruptly { countAbruptEnd(index) }
            launches[index].hasCrashed = true
        }
        let signature = bounded(report.signature)
        change(record) { totals in
            if report.kind == .crash { totals.crashes += 1 } else { totals.hangs += 1 }
            totals.count(signature, isUnsent: record.unsentRows > 0)
        }
        return report.kind == .crash ? record.id : nil
    }

    var unsent: [KeptTotals] { totals.filter { $0.revision > $0.sentRevision } }

    mutating func sent(_ sent: [KeptTotals]) {
        for one in sent {
            guard let index = index(of: one.totals) else { continue }
            totals[index].sentRevision = max(totals[index].sentRevision, one.revision)
        }
    }

    private mutating func countAbruptEnd(_ index: Int) {
        launches[index].endedAbruptly = true
        let record = launches[index].record
        change(record) { totals in
            totals.abruptEnds += 1
            if record.unsentRows > 0 { totals.unsentEnds += 1 }
        }
    }

    /// The last launch of the report's process that began before the report's date. If there is none, the clock was set
    /// back, so the last launch of that process counts.
    private func launch(of report: CrashReport) -> Int? {
        func isMeant(_ launch: KnownLaunch) -> Bool {
            launch.record.process == report.process && (report.kind == .hang || launch.hasEnded && !launch.hasCrashed)
        }
        let time = report.date?.timeIntervalSince1970 ?? .infinity
        return launches.lastIndex { isMeant($0) && $0.record.beganAt <= time } ?? launches.lastIndex(where: isMeant)
    }

    private func index(of launch: UUID) -> Int? { launches.lastIndex { $0.record.id == launch } }

    private func index(of other: HealthTotals) -> Int? {
        totals.firstIndex {
            $0.totals.version == other.version && $0.totals.build == other.build && $0.totals.day == other.day
        }
    }

    private mutating func change(_ record: LaunchRecord, _ change: (inout HealthTotals) -> Void) {
        let fresh = HealthTotals(version: record.version.version, build: record.version.build, day: record.day)
        let index = index(of: fresh) ?? totals.endIndex
        if index == totals.endIndex { totals.append(KeptTotals(totals: fresh)) }
        change(&totals[index].totals)
        totals[index].revision += 1
        totals.removeFirst(max(0, totals.count - Limit.totals))
    }

    /// The signature, or `other` if there are too many distinct ones already.
    private func bounded(_ signature: CrashSignature) -> CrashSignature {
        let known = Set(totals.flatMap { $0.totals.signatures.map(\.signature.group) })
        return known.count < Limit.signatures - 1 || known.contains(signature.group) ? signature : .other
    }
}

extension HealthTotals {
    fileprivate mutating func count(_ signature: CrashSignature, isUnsent: Bool) {
        let group = signature.group
        let index = signatures.firstIndex { $0.signature.group == group } ?? signatures.endIndex
        if index == signatures.endIndex { signatures.append(SignatureTotal(signature: signature, count: 0, unsent: 0)) }
        signatures[index].count += 1
        if isUnsent { signatures[index].unsent += 1 }
    }
}
