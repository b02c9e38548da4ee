// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Takes pending rows in the order of their groups, and gathers the sendable rows into units. Pure.
///
/// A unit is sent completely or not at all. It has the rows of one group, or of joined groups. If any row of a group is
/// postponed, the entire group waits (S8). A group with more than ``maxRows`` rows is sent row by row.
///
/// Invariant: `run` has the rows taken from the present group, or none if the group is held up, too large, or joined
/// with other groups.
struct UnitScan {
    enum Unit: Equatable {
        case rows([RowEntry])
        /// Joined groups, to be read separately because their rows are not adjacent.
        case united([Int64])
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

    /// - Parameter limit: About how many rows to gather. The last unit may exceed it.
    init(_ groups: UnitedGroups, limit: Int, isPostponed: @escaping (RowEntry) -> Bool) {
        self.groups = groups
        self.limit = limit
        self.isPostponed = isPostponed
    }

    /// Returns whether more rows are wanted.
    mutating func take(_ entry: RowEntry) -> Bool {
        guard let group = entry.local?.group.rawValue else { return true }
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

    /// - Returns: The units gathered since the last call, and the last group, where a later scan continues. The group
    ///   is nil if none was found.
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
