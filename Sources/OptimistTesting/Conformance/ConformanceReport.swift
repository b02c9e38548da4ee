// This source file is part of the Optimist open source project, under the MIT licence.

/// What a remote promises to the sync engine, as far as ``RemoteConformance`` tries it.
public enum RemotePromise: String, Sendable, Hashable, CaseIterable {
    /// `connect`, `push`, `pull` and `snapshot` answer, and what they answer fits the request.
    case answers
    /// A row that the remote accepted comes in a page.
    case keepsRows
    /// A row of a page is whole: it has every column that was ever written.
    case sendsWholeRows
    /// A repeated push changes nothing, and a counter is the sum of its origins' totals.
    case countsOnce
    /// Each column goes to the later clock and each row to the higher generation, in whatever order writes arrive.
    case mergesByClock
    /// With ``RemoteConformance/Merging/byTransaction``: each column goes to the value that was stored later and each row
    /// to the higher generation, and no clock is sent.
    case mergesByTransaction
    /// The n-th verdict is about the n-th row of the push, and says what the remote did with it.
    case judgesEachRow
    /// A row that was refused changes nothing.
    case refusalsChangeNothing
    /// A refusal has the row that the remote holds.
    case refusalsHaveTheRow
    /// The remote applies the rows of a group together or not at all.
    case keepsGroupsWhole
    /// Rows come in the order of their last transactions.
    case ordersRows
    /// A page after a cursor brings only what is later than the pages before it.
    case advancesCursors
    /// A page does not cut a transaction that fits into it.
    case keepsTransactionsWhole
    /// A pull that begins after the answer to a push brings what was pushed.
    case pullsSeeAnswers
    /// If the guarantees say so, pages also bring what the device itself has pushed.
    case bringsOwnChanges
    /// A snapshot has every living row, in the order of ids, and leads on to its cursor.
    case takesSnapshots

    /// The promise as a sentence.
    public var sentence: String {
        switch self {
        case .answers: "The remote answers, and the answer fits the request."
        case .keepsRows: "A row that the remote accepted comes in a page."
        case .sendsWholeRows: "A row of a page has every column that was ever written."
        case .countsOnce: "A repeated push changes nothing, and a counter is the sum of its totals."
        case .mergesByClock: "Each column goes to the later clock, and each row to the higher generation."
        case .mergesByTransaction:
            "Each column goes to the later transaction, each row to the higher generation, and no clock is sent."
        case .judgesEachRow: "The n-th verdict is about the n-th row, and says what the remote did with it."
        case .refusalsChangeNothing: "A row that was refused changes nothing."
        case .refusalsHaveTheRow: "A refusal has the row that the remote holds."
        case .keepsGroupsWhole: "The rows of a group are applied together or not at all."
        case .ordersRows: "Rows come in the order of their last transactions."
        case .advancesCursors: "A page after a cursor brings only what is later than the pages before it."
        case .keepsTransactionsWhole: "A page does not cut a transaction that fits into it."
        case .pullsSeeAnswers: "A pull that begins after the answer to a push brings what was pushed."
        case .bringsOwnChanges: "Pages also bring what the device itself has pushed, as the guarantees say."
        case .takesSnapshots: "A snapshot has every living row, in the order of ids, and leads on to its cursor."
        }
    }
}

/// A promise that a remote broke, and where.
public struct BrokenPromise: Sendable, Hashable, CustomStringConvertible {
    /// The promise.
    public var promise: RemotePromise
    /// The seed of the world. ``RemoteConformance`` with this seed alone finds the same again.
    public var seed: UInt64
    /// The step of the world, from 1 on. 0: before the first.
    public var step: Int
    /// What the remote did, and what it should have done.
    public var what: String

    /// The seed and the step, the promise, and what was found.
    public var description: String { "Seed \(seed), step \(step): \(promise.sentence) \(what)" }
}

/// What ``RemoteConformance`` found.
public struct ConformanceReport: Sendable, Hashable {
    /// The calls and cases of a run. A zero says that the run could not try that case.
    package struct Counts: Sendable, Hashable {
        /// Worlds.
        package var worlds = 0
        /// Pushes with rows, the repeated ones not counted.
        package var pushes = 0
        /// Pushes that were sent again, because the device had lost the answer or the network had doubled the push.
        package var repeats = 0
        /// Pages.
        package var pages = 0
        /// Parts of snapshots. Zero: the remote gives none.
        package var snapshotPages = 0
        /// Rows in which a value of the remote won.
        package var merges = 0
        /// Rows that the remote refused.
        package var refusals = 0
    }

    /// The first broken promise of each world that found one. Empty: none.
    public var broken: [BrokenPromise] = []
    /// The calls and cases of all worlds together.
    package var counts = Counts()

    /// Whether no promise was found broken.
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
    /// A line for each broken promise, and one that says what was tried.
    public var description: String {
        let tried =
            "Tried in \(counts.worlds) worlds: \(counts.pushes) pushes, \(counts.repeats) repeated, "
            + "\(counts.pages) pages, \(counts.snapshotPages) parts of snapshots, \(counts.merges) merges, "
            + "\(counts.refusals) refusals."
        return (broken.map(\.description) + [tried]).joined(separator: "\n")
    }
}
