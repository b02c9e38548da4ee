// This source file is part of the Optimist open source project, under the MIT licence.

/// A promise of a remote to the sync engine, as far as ``RemoteConformance`` tests it.
public enum RemotePromise: String, Sendable, Hashable, CaseIterable {
    /// `connect`, `push`, `pull` and `snapshot` return answers that match their requests.
    case answers
    /// A page delivers every row that the remote accepted.
    case keepsRows
    /// A row in a page is complete: it has every column that was ever written.
    case sendsWholeRows
    /// A repeated push changes nothing, and a counter is the sum of its origins' totals.
    case countsOnce
    /// The later clock wins each column and the higher generation wins each row, in whatever order writes arrive.
    case mergesByClock
    /// With ``RemoteConformance/Merging/byTransaction``: the value that was stored later wins each column, the higher
    /// generation wins each row, and the remote sends no clocks.
    case mergesByTransaction
    /// The n-th verdict describes what the remote did with the n-th row of the push.
    case judgesEachRow
    /// A refused row changes nothing.
    case refusalsChangeNothing
    /// A refusal contains the remote's version of the row.
    case refusalsHaveTheRow
    /// The remote applies the rows of a group together or not at all.
    case keepsGroupsWhole
    /// Pages deliver rows in the order of their last transactions.
    case ordersRows
    /// A page after a cursor delivers only rows that are later than the previous pages.
    case advancesCursors
    /// A page does not split a transaction that fits into it.
    case keepsTransactionsWhole
    /// A pull that starts after the answer to a push delivers the pushed rows.
    case pullsSeeAnswers
    /// If the remote guarantees it, pages also deliver the device's own pushes.
    case bringsOwnChanges
    /// A snapshot has every row that is not deleted, in the order of ids, and pages continue from its cursor.
    case takesSnapshots

    /// The promise as a sentence.
    public var sentence: String {
        switch self {
        case .answers: "The remote answers, and the answer fits the request."
        case .keepsRows: "Pages deliver every row that the remote accepted."
        case .sendsWholeRows: "A row in a page has every column that was ever written."
        case .countsOnce: "A repeated push changes nothing, and a counter is the sum of its totals."
        case .mergesByClock: "In each column the later clock wins, and in each row the higher generation wins."
        case .mergesByTransaction:
            "In each column the later transaction wins, in each row the higher generation, and pages omit clocks."
        case .judgesEachRow: "The n-th verdict reports how the remote treated the n-th row."
        case .refusalsChangeNothing: "A refused row changes nothing."
        case .refusalsHaveTheRow: "A refusal contains the remote's current row."
        case .keepsGroupsWhole: "The rows of a group are applied together or not at all."
        case .ordersRows: "Pages deliver rows in the order of their last transactions."
        case .advancesCursors: "A page after a cursor delivers only rows that are later than the previous pages."
        case .keepsTransactionsWhole: "A page does not split a transaction that fits into it."
        case .pullsSeeAnswers: "A pull that starts after the answer to a push delivers the pushed rows."
        case .bringsOwnChanges: "If the remote guarantees it, pages also deliver the device's own pushes."
        case .takesSnapshots:
            "A snapshot has every living row, in the order of ids, and pages continue from its cursor."
        }
    }
}

/// A promise that a remote broke, and where.
public struct BrokenPromise: Sendable, Hashable, CustomStringConvertible {
    /// The promise.
    public var promise: RemotePromise
    /// The seed of the world. Running ``RemoteConformance`` with only this seed reproduces the finding.
    public var seed: UInt64
    /// The step of the world, starting at 1. 0 is before the first step.
    public var step: Int
    /// What the remote did, and what it should have done.
    public var what: String

    /// The seed, the step, the promise and the finding.
    public var description: String { "Seed \(seed), step \(step): \(promise.sentence) \(what)" }
}

/// The result of ``RemoteConformance``.
public struct ConformanceReport: Sendable, Hashable {
    /// A zero means that the run could not test that case.
    package struct Counts: Sendable, Hashable {
        package var worlds = 0
        package var pushes = 0
        /// The device lost the answer, or the network duplicated the push.
        package var repeats = 0
        package var pages = 0
        /// Zero if the remote does not offer snapshots.
        package var snapshotPages = 0
        package var merges = 0
        package var refusals = 0
    }

    /// The first broken promise of each failed world. Empty if all passed.
    public var broken: [BrokenPromise] = []
    package var counts = Counts()

    /// Whether no promise was broken.
    public var isSound: Bool { broken.isEmpty }

    mutating func add(_ other: Counts) {
        counts.worlds += 1
        counts.pushes += other.pushes
        counts.repeats += other.repeats
        counts.pages += other.pages
        counts.snapshotPages += other.snapshotPages
        counts.merges += other.merges
        counts.refusals += other.refusals
    }
}

extension ConformanceReport: CustomStringConvertible {
    /// A line for each broken promise, and a line with the counts.
    public var description: String {
        let tried =
            "Tried in \(counts.worlds) worlds: \(counts.pushes) pushes, \(counts.repeats) repeated, "
            + "\(counts.pages) pages, \(counts.snapshotPages) parts of snapshots, \(counts.merges) merges, "
            + "\(counts.refusals) refusals."
        return (broken.map(\.description) + [tried]).joined(separator: "\n")
    }
}
