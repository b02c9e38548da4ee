// This source file is part of the Optimist open source project, under the MIT licence.

public import Optimist
public import OptimistCore
public import OptimistWire

/// Tests whether a `Remote` keeps its promises, and describes each broken promise.
///
/// The kit needs a remote for each of several devices of one account, and rows to write. A seed determines the writes,
/// repeated pushes, lost answers, page sizes and cursors.
///
/// ```swift
/// let notes = RemoteConformance.Table("note") { random in
///     ["text": .string("note \(random.next() % 1000)")]
/// }
/// let report = try await RemoteConformance(tables: [notes]) { seed in
///     let account = try await backend.makeAccount()
///     return [MyRemote(account), MyRemote(account)]
/// }.run()
/// #expect(report.isSound, "\(report)")
/// ```
///
/// Calls never overlap, so the same seeds give the same report if the remote is deterministic. The kit does not test
/// concurrent calls, unique columns, references between rows, `editWins`, or a backend that is restored from a backup.
public struct RemoteConformance: Sendable {
    /// A table of the backend, and the rows that the kit may write to it.
    public struct Table: Sendable {
        /// The table's name.
        public var name: String
        /// The counter columns, which the kit increments. Default: none.
        public var counters: [String]
        /// Returns the columns of a row that the remote accepts, as a new row or as an update. The columns do not
        /// include counters.
        public var row: @Sendable (inout SplitMix64) -> JSONObject
        /// Returns the columns of a row that the remote refuses permanently. If it is nil, the default, refusals are
        /// not tested.
        public var refusedRow: (@Sendable (inout SplitMix64) -> JSONObject)?

        /// Creates a table description.
        ///
        /// - Parameters:
        ///   - name: The table's name.
        ///   - counters: The counter columns.
        ///   - refusedRow: Returns a row that the remote refuses.
        ///   - row: Returns a row that the remote accepts. Use only its argument as a source of randomness, so that
        ///     seeds are reproducible.
        public init(
            _ name: String, counters: [String] = [],
            refusedRow: (@Sendable (inout SplitMix64) -> JSONObject)? = nil,
            row: @escaping @Sendable (inout SplitMix64) -> JSONObject
        ) {
            self.name = name
            self.counters = counters
            self.refusedRow = refusedRow
            self.row = row
        }
    }

    /// The rule by which a backend chooses between two values of a column.
    public enum Merging: Sendable, Hashable {
        /// The value with the later clock wins. The backend stores the clocks and sends them in pages.
        case byClock
        /// The value stored later wins. The backend neither stores nor sends clocks. It recognizes a repeated push by
        /// the device's id and the push's number.
        case byTransaction
    }

    /// Creates the remotes of one world, one for each of at least two devices, for a new account without rows.
    public typealias Remotes = @Sendable (_ seed: UInt64) async throws -> [any Remote]

    /// The seeds, one for each world.
    public var seeds: ClosedRange<UInt64>
    /// The number of steps in each world. A step is a push, a pull or a repetition.
    public var steps: Int
    /// The rule by which the backend chooses between two values of a column.
    public var merging: Merging
    private let tables: [Table]
    private let remotes: Remotes

    /// Creates a test run.
    ///
    /// - Parameters:
    ///   - seeds: One for each world. Default: 1 to 20.
    ///   - steps: The number of steps in each world, at least 1. Default: 40.
    ///   - merging: How the backend chooses between two values of a column. Default: by their clocks.
    ///   - tables: The tables to write to, at least one.
    ///   - remotes: Creates the remotes of one world.
    public init(
        seeds: ClosedRange<UInt64> = 1...20, steps: Int = 40, merging: Merging = .byClock, tables: [Table],
        _ remotes: @escaping Remotes
    ) {
        precondition(!tables.isEmpty, "RemoteConformance needs at least one table.")
        precondition(steps > 0, "RemoteConformance needs at least one step.")
        self.seeds = seeds
        self.steps = steps
        self.merging = merging
        self.tables = tables
        self.remotes = remotes
    }

    /// Runs a world for each seed, one after another. A world ends at its first broken promise.
    ///
    /// - Throws: Errors of `remotes`, and `CancellationError`. Errors of a remote are part of the report.
    public func run() async throws -> ConformanceReport {
        var report = ConformanceReport()
        for seed in seeds {
            try Task.checkCancellation()
            let remotes = try await remotes(seed)
            precondition(remotes.count >= 2, "RemoteConformance needs the remotes of at least two devices.")
            var world = ConformanceWorld(seed: seed, merging: merging, tables: tables, remotes: remotes)
            do { try await world.run(steps: steps) } catch let finding as ConformanceFinding {
                report.broken.append(
                    BrokenPromise(promise: finding.promise, seed: seed, step: world.step, what: finding.what))
            }
            report.add(world.counts)
        }
        return report
    }
}

struct ConformanceFinding: Error {
    let promise: RemotePromise
    let what: String

    init(_ promise: RemotePromise, _ what: String) {
        self.promise = promise
        self.what = what
    }
}
