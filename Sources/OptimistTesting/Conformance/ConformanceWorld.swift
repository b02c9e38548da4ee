// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore
import OptimistWire

/// Some devices of an account, whose actions a seed determines.
struct ConformanceWorld {
    private(set) var step = 0
    private(set) var counts = ConformanceReport.Counts()
    private let tables: [RemoteConformance.Table]
    private var devices: [ConformanceDevice]
    private var expected: ExpectedRows
    private var random: SplitMix64
    private var initialCursor = ""
    private var hasSnapshots = true
    /// Milliseconds since 1970, far in the past, so that no remote sees a clock that is ahead.
    private var milliseconds: Int64 = 1_600_000_000_000
    /// Not counting repetitions.
    private var arrivals: Int64 = 0

    private var names: [String] { tables.map(\.name) }

    /// How often a call is attempted before its failure counts.
    private static let attempts = 5
    /// The maximum number of consecutive pages without rows.
    private static let emptyPages = 20

    init(
        seed: UInt64, merging: RemoteConformance.Merging, tables: [RemoteConformance.Table], remotes: [any Remote]
    ) {
        self.tables = tables
        random = SplitMix64(seed: seed)
        devices = remotes.enumerated().map { ConformanceDevice($0, $1, seed: seed) }
        expected = ExpectedRows(tables, merging)
    }

    mutating func run(steps: Int) async throws {
        try await connect()
        for _ in 0..<steps {
            try Task.checkCancellation()
            step += 1
            milliseconds += Int64.random(in: 1...2_000, using: &random)
            try await takeStep()
        }
        step += 1
        for device in devices.indices {
            try await receive(device)
            try await readAnew(device)
        }
    }

    private mutating func takeStep() async throws {
        let device = Int.random(in: devices.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<55:
            try await push(device)
            // Pulls immediately: the pull must include the answered push.
            if Bool.random(using: &random) { try await receive(Int.random(in: devices.indices, using: &random)) }
        case ..<70: try await pushAgain(device)
        case ..<90: try await receive(device)
        case ..<95: try await readAnew(device)
        default: try await readSnapshot(device)
        }
    }

    // MARK: - Connecting

    private mutating func connect() async throws {
        var account: RemoteAccount?
        for index in devices.indices {
            let remote = devices[index].remote
            let answer = try await attempt("connect()") { try await remote.connect() }
            if let account, account.id != answer.id {
                throw ConformanceFinding(
                    .answers,
                    "The remotes belong to two accounts, \(account.id) and \(answer.id). Use one account for all."
                )
            }
            if let served = answer.tables, let missing = names.first(where: { !served.contains($0) }) {
                throw ConformanceFinding(.answers, "The account does not serve the table \(missing).")
            }
            account = answer
            initialCursor = answer.initialCursor
            devices[index].reading = PageReading(from: answer.initialCursor)
            try await drain(index)
            guard devices[index].reading.rows.isEmpty else {
                throw ConformanceFinding(
                    .answers, "The account already contains rows. Create a new account for each seed.")
            }
            try await askForRewind(index)
        }
    }

    /// Sends the request that a device with counters sends at launch. A remote without counters may refuse it.
    private mutating func askForRewind(_ index: Int) async throws {
        guard tables.contains(where: { !$0.counters.isEmpty }) else { return }
        let device = devices[index]
        let answer = try await attempt("push() without rows") {
            do { return try await device.remote.push(device.rewindCheck) } catch RemoteFailure.refused {
                return RemotePush.Answer([])
            }
        }
        guard answer.verdicts.isEmpty else {
            throw ConformanceFinding(
                .judgesEachRow, "The answer to a push without rows contains \(answer.verdicts.count) verdicts.")
        }
    }

    // MARK: - Pushing

    private mutating func push(_ index: Int) async throws {
        // The devices' clocks differ by up to two seconds, so later writes often have earlier clocks.
        let time = milliseconds + Int64.random(in: -2_000...2_000, using: &random)
        arrivals += 1
        let (push, drawn) = devices[index].draw(tables, at: time, arrival: arrivals, using: &random)
        counts.pushes += 1
        // If the answer is lost, the device pushes again.
        let isAnswerLost = Int.random(in: 0..<4, using: &random) == 0
        try await send(push, drawn, by: index, isRepeat: false, isHeard: !isAnswerLost)
        if isAnswerLost { try await pushAgain(index) }
    }

    /// Repeats the last push, perhaps long after other pushes.
    private mutating func pushAgain(_ index: Int) async throws {
        guard let (push, drawn) = devices[index].last else { return }
        counts.repeats += 1
        try await send(push, drawn, by: index, isRepeat: true, isHeard: true)
    }

    private mutating func send(
        _ push: RemotePush, _ drawn: [DrawnRow], by index: Int, isRepeat: Bool, isHeard: Bool
    ) async throws {
        let remote = devices[index].remote
        let answer = try await attempt("push()") {
            let answer = try await remote.push(push)
            if answer.verdicts.contains(where: \.isWait) { throw ConformanceWait() }
            return answer
        }
        try expected.take(answer.verdicts, of: drawn, groups: push.groups, by: index, isRepeat: isRepeat)
        counts.merges += answer.verdicts.count(where: \.isMerge)
        counts.refusals += answer.verdicts.count(where: \.isRefusal)
        if isHeard { devices[index].learn(answer.verdicts) }
    }

    // MARK: - Pulling

    /// Reads all pages on a device, and compares its rows with all answers so far.
    private mutating func receive(_ index: Int) async throws {
        try await drain(index)
        devices[index].learn()
        guard let (key, _) = difference(in: devices[index].reading, of: index) else { return }
        try await drain(index)
        try await blame(key, index, devices[index].reading)
    }

    /// Reads all pages from the beginning, with other page sizes.
    private mutating func readAnew(_ index: Int) async throws {
        guard let (key, _) = difference(in: try await reading(by: index), of: index) else { return }
        try await blame(key, index, try await reading(by: index))
    }

    /// Throws the reason why a reader had a wrong row.
    ///
    /// - Parameter reading: The same reader's rows after another pull.
    private mutating func blame(_ key: ConformanceKey, _ index: Int, _ reading: PageReading) async throws {
        guard let problem = expected.problem(at: key, in: reading) else {
            throw ConformanceFinding(
                .pullsSeeAnswers, "A pull after the answer did not deliver \(key), but the next pull did.")
        }
        let other = (index + 1) % devices.count
        if expected.problem(at: key, in: try await self.reading(by: other)) == nil {
            let isOwn = expected.rows[key]?.lastWriter == index && devices[index].remote.guarantees.pagesHaveOwnChanges
            throw ConformanceFinding(
                isOwn ? .bringsOwnChanges : .keepsRows,
                isOwn
                    ? "The device that pushed \(key) does not receive it, but another device does."
                    : "The pages of one reader omit \(key), which another reader receives.")
        }
        throw problem
    }

    private mutating func reading(by index: Int) async throws -> PageReading {
        var reading = PageReading(from: initialCursor)
        try await drain(&reading, by: devices[index].remote)
        return reading
    }

    private mutating func drain(_ index: Int) async throws {
        var reading = devices[index].reading
        try await drain(&reading, by: devices[index].remote)
        devices[index].reading = reading
    }

    private mutating func drain(_ reading: inout PageReading, by remote: any Remote) async throws {
        var (hasMore, empty) = (true, 0)
        while hasMore {
            try Task.checkCancellation()
            let request = RemotePage.Request(
                tables: names, cursor: reading.cursor, limit: Int.random(in: 1...8, using: &random))
            let page = try await attempt("pull()") { try await remote.pull(request) }
            counts.pages += 1
            try reading.take(page, for: request, remote.guarantees)
            empty = page.rows.isEmpty ? empty + 1 : 0
            if empty > Self.emptyPages {
                throw ConformanceFinding(
                    .advancesCursors, "\(empty) consecutive pages were empty, although each announced more rows.")
            }
            hasMore = page.hasMore
        }
    }

    // MARK: - Snapshots

    private mutating func readSnapshot(_ index: Int) async throws {
        guard hasSnapshots else { return }
        let remote = devices[index].remote
        var (rows, at) = ([RemotePage.Row](), String?.none)
        for table in names {
            var after: String?
            repeat {
                let request = RemoteSnapshot.Request(
                    table: table, at: at, after: after, limit: Int.random(in: 1...8, using: &random))
                guard let page = try await snapshot(request, of: remote) else {
                    hasSnapshots = false
                    return
                }
                counts.snapshotPages += 1
                try Self.check(page, for: request)
                rows += page.rows
                (at, after) = (page.at, page.next)
            } while after != nil
        }
        var reading = PageReading(from: at ?? initialCursor, snapshot: rows)
        try await drain(&reading, by: remote)
        guard let (_, problem) = difference(in: reading, of: nil) else { return }
        throw ConformanceFinding(.takesSnapshots, "After a snapshot: \(problem.what)")
    }

    private func snapshot(_ request: RemoteSnapshot.Request, of remote: any Remote) async throws -> RemoteSnapshot? {
        try await attempt("snapshot()") {
            do { return try await remote.snapshot(request) } catch RemoteFailure.noSnapshots { return nil }
        }
    }

    private static func check(_ page: RemoteSnapshot, for request: RemoteSnapshot.Request) throws {
        if let at = request.at, page.at != at {
            throw ConformanceFinding(.takesSnapshots, "A page of the snapshot at \(at) reports the cursor \(page.at).")
        }
        var last = request.after ?? ""
        for row in page.rows {
            guard row.table == request.table, !row.isDeleted else {
                throw ConformanceFinding(
                    .takesSnapshots,
                    "A snapshot of \(request.table) contains \(row.key)\(row.isDeleted ? ", deleted" : "")."
                )
            }
            guard last.utf8.lexicographicallyPrecedes(row.id.utf8) else {
                throw ConformanceFinding(
                    .takesSnapshots, "A snapshot has \(row.key) after \(last), out of the order of ids.")
            }
            last = row.id
        }
    }

    // MARK: - Comparing

    /// Returns the first wrong row, and the finding.
    ///
    /// - Parameter index: If it is nil, the reader must also receive its own pushes.
    private func difference(
        in reading: PageReading, of index: Int?
    ) -> (key: ConformanceKey, problem: ConformanceFinding)? {
        let guaranteed = index.map { devices[$0].remote.guarantees.pagesHaveOwnChanges } ?? true
        let problems = Set(expected.rows.keys).union(reading.rows.keys).compactMap { key in
            let isMissed = !guaranteed && expected.rows[key].map { $0.lastWriter == index } ?? false
            return isMissed ? nil : expected.problem(at: key, in: reading).map { (key: key, problem: $0) }
        }
        return problems.min { $0.key.description < $1.key.description }
    }

    // MARK: - Calls

    private func attempt<Answer>(_ name: String, _ call: () async throws -> Answer) async throws -> Answer {
        var failure = ""
        for _ in 0..<Self.attempts {
            do { return try await call() } catch let error as CancellationError { throw error } catch {
                failure = "\(error)"
            }
        }
        throw ConformanceFinding(
            .answers, "\(name) failed \(Self.attempts) times in a row. The last failure: \(failure).")
    }
}

/// A temporary failure.
private struct ConformanceWait: Error, CustomStringConvertible {
    var description: String { "the verdict `retry`" }
}

extension RemotePush.Verdict {
    fileprivate var isWait: Bool { if case .retry = self { true } else { false } }
}
