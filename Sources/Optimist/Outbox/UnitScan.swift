// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Gathers what may be sent into units, as pending rows come by in the order of their groups. Pure.
///
/// A unit is sent whole or not at all: the rows of one group, or of groups that are one. A group waits as a whole for each
/// of its rows that is postponed (S8). One with more than ``UnitScan/maxRows`` rows goes row by row.
struct UnitScan {
    enum Unit: Equatable {
        case rows([RowEntry])
        /// Groups whose rows do not stand together: they must be read by themselves.
        case united([Int64])
        /// A group that is too large to go whole.
        case large([Int64])
    }

    /// The most rows that are sent as one group (S2).
    static let maxRows = 1_000

    private var units: [Unit] = []
    private let groups: UnitedGroups
    private let limit: Int
    private let isPostponed: (RowEntry) -> Bool
    private var count = 0
    private var group: Int64?
    private var run: [RowEntry] = []
    private var isSkipped = false
    private var size = 0
    private var isHeldUp = false
    private var met: Set<Int64> = []

    /// - Parameters:
    ///   - limit: About how many rows are wanted. The last unit may go beyond it.
    ///   - isPostponed: Whether a row may not be sent yet.
    init(_ groups: UnitedGroups, limit: Int, isPostponed: @escaping (RowEntry) -> Bool) {
        self.groups = groups
        self.limit = limit
        self.isPostponed = isPostponed
    }

    /// Takes the next pending row. Returns whether more are wanted.
    mutating func take(_ entry: RowEntry) -> Bool {
        guard let group = entry.pending?.rawValue else { return true }
        if group != self.group {
            endRun()
            if count >= limit { return false }
            begin(group)
        }
        if isSkipped { return true }
        size += 1
        isHeldUp = isHeldUp || isPostponed(entry)
        if isHeldUp { run = [] } else { run.append(entry) }
        guard size > Self.maxRows else { return true }
        run = []
        units.append(.large([group]))
        return false
    }

    /// There are no more rows for now: the scan goes on, if it does, after a group. Nil: it has met none.
    ///
    /// - Returns: The units that were gathered since the last call.
    mutating func end() -> (units: [Unit], after: Int64?) {
        endRun()
        defer { (units, count, group) = ([], 0, nil) }
        return (units, group)
    }

    private mutating func begin(_ group: Int64) {
        self.group = group
        isSkipped = false
        size = 0
        isHeldUp = false
        guard let united = groups.united(with: group) else { return }
        isSkipped = true
        guard met.insert(united[0]).inserted else { return }
        units.append(.united(united))
        count += united.count
    }

    private mutating func endRun() {
        if !run.isEmpty { units.append(.rows(run)) }
        count += run.count
        run = []
    }
}
