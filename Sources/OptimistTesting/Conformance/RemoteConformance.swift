// This source file is part of the Optimist open source project, under the MIT licence.

public import Optimist
public import OptimistCore
public import OptimistWire

/// Tries whether a `Remote` keeps its promises, and says in words which it breaks.
///
/// The kit knows nothing of the backend. It needs a remote for each of several devices of one account, and rows to write.
/// A seed decides the writes of the devices, the pushes that are repeated, the answers that are lost, and the sizes and
/// cursors of pages. The kit keeps its own record of what the rows must be, and compares.
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
/// The calls come one after another, so the same seeds give the same report if the remote itself is deterministic. What
/// a remote does with calls that run at the same time is not tried here. Neither are unique columns, rows that refer to
/// other rows, `editWins`, and a backend that goes back to a backup.
public struct RemoteConformance: Sendable {
    /// A table of the backend, and the rows that the kit may write into it.
    public struct Table: Sendable {
        /// The table's name.
        public var name: String
        /// Columns that are counters. The kit counts in them. Default: none.
        public var counters: [String]
        /// Makes the columns of a row that the remote accepts, also as an update of another row. Without counters.
        public var row: @Sendable (inout SplitMix64) -> JSONObject
        /// Makes the columns of a row that the remote refuses for good. Nil, the default: refusals are not tried.
        public var refusedRow: (@Sendable (inout SplitMix64) -> JSONObject)?

        /// Describes a table.
        ///
        /// - Parameters:
        ///   - name: The table's name.
        ///   - counters: Columns that are counters.
        ///   - refusedRow: Makes a row that the remote refuses.
        ///   - row: Makes a row that the remote accepts. All chance comes from its argument, so that a seed repeats.
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

    /// How a backend decides between two values of a column.
    public enum Merging: Sendable, Hashable {
        /// The value with the later clock stands. The backend keeps the clocks, and its pages have them.
        case byClock
        /// The value that was stored later stands. The backend keeps no clocks, and its pages have none. It recognises
        /// a push that comes again by the device's id and the push's number.
        case byTransaction
    }

    /// Makes the remotes of one world: a remote for each device, two at least, all of one new account without rows.
    public typealias Remotes = @Sendable (_ seed: UInt64) async throws -> [any Remote]

    /// The seeds, one for each world.
    public var seeds: ClosedRange<UInt64>
    /// How many steps each world takes: a push, a pull, a repetition.
    public var steps: Int
    /// How the backend decides between two values of a column.
    public var merging: Merging
    private let tables: [Table]
    private let remotes: Remotes

    /// Describes what is tried.
    ///
    /// - Parameters:
    ///   - seeds: One for each world. Default: 1 to 20.
    ///   - steps: How many steps each world takes, at least 1. Default: 40.
    ///   - merging: How the backend decides between two values of a column. Default: by their clocks.
    ///   - tables: The tables to write into, one at least.
    ///   - remotes: Makes the remotes of one world.
    public init(
        seeds: ClosedRange<UInt64> = 1...20, steps: Int = 40, merging: Merging = .byClock, tables: [Table],
        _ remotes: @escaping Remotes
    ) {
        precondition(!tables.isEmpty, "RemoteConformance needs a table to write into.")
        precondition(steps > 0, "RemoteConformance needs at least one step.")
        self.seeds = seeds
        self.steps = steps
        self.merging = merging
        self.tables = tables
        self.remotes = remotes
    }

    /// Runs a world for each seed, one after another. A world ends at the first promise that it finds broken.
    ///
    /// - Throws: What making the remotes throws, and `CancellationError`. What a remote throws is part of the report.
    public func run() async throws -> ConformanceReport {
        var report = ConformanceReport()
        for seed in seeds {
            try Task.checkCancellation()
            let remotes = try await remotes(seed)
            precondition(remotes.count >= 2, "RemoteConformance needs remotes of two devices at least.")
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

/// Ends a world: the first promise that it found broken.
struct ConformanceFinding: Error {
    let promise: RemotePromise
    let what: String

    init(_ promise: RemotePromise, _ what: String) {
        self.promise = promise
        self.what = what
    }
}
