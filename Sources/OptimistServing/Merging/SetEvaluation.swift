// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Decides what a push makes of the rows that it names. A value: reading and storing are somebody else's.
///
/// Rows are taken in units: the rows of a group, or one row. Of a group either everything is applied or nothing. Units
/// share no row, so they depend on each other only through references, which are settled at the end.
struct SetEvaluation {
    /// The verdicts, in the order of the operations.
    private(set) var verdicts: [RowVerdict]
    /// The rows that changed, in the order in which they were named. A row without `bornSeq` began a life.
    private(set) var changes: [RowChange] = []
    private(set) var clock: ServerClock

    private let operations: [RowOperation]
    private let schema: Schema
    private let stored: [RowKey: StoredRow]
    private let validate: ServingSettings.Validation
    private var units: [Unit]
    /// The rows after the operations, without those of units that failed.
    private var rows: [RowKey: RowEvaluation] = [:]

    /// - Parameters:
    ///   - operations: What is asked, in order.
    ///   - groups: Rows that succeed or fail together. Groups that share a row are one.
    ///   - stored: The rows named by the operations and those that they refer to, as far as the server has them.
    ///   - clock: The server's. Read it again afterwards.
    ///   - validate: What else may refuse an operation.
    init(
        _ operations: [RowOperation], groups: [[RowKey]] = [], schema: Schema, stored: [RowKey: StoredRow],
        clock: ServerClock, validate: @escaping ServingSettings.Validation = { _ in nil }
    ) {
        self.validate = validate
        self.operations = operations
        self.schema = schema
        self.stored = stored
        self.clock = clock
        verdicts = Array(repeating: .accepted(won: nil), count: operations.count)
        rows.reserveCapacity(operations.count)
        units = Self.units(operations, groups)
        for index in units.indices { evaluate(unit: index) }
        settleReferences()
        collectChanges()
    }

    /// Some operations that are applied together.
    private struct Unit {
        var operations: [Int]
        var isGroup: Bool
        /// Whether it refers to rows that may not be here.
        var isOpen = false
    }

    private mutating func evaluate(unit number: Int) {
        for index in units[number].operations {
            let operation = operations[index]
            guard let type = schema.types[operation.key.type] else {
                verdicts[index] = .refused(SetError("invalidArguments", "The schema has no such type."))
                continue
            }
            if let error = validate(operation) {
                verdicts[index] = .refused(error)
                continue
            }
            var row =
                rows[operation.key] ?? RowEvaluation(key: operation.key, type: type, stored: stored[operation.key])
            verdicts[index] = row.apply(operation.action, clock: &clock)
            units[number].isOpen = units[number].isOpen || !row.references.isEmpty
            rows[operation.key] = row
        }
        guard units[number].isGroup else { return }
        let culprits = units[number].operations.filter { verdicts[$0].isRefusal }
        if !culprits.isEmpty { fail(unit: number, culprits: culprits) }
    }

    /// Takes back everything that a unit did. The rows that are not themselves at fault hear who is.
    private mutating func fail(unit number: Int, culprits: [Int]) {
        let names = Set(culprits.map { operations[$0].key.description }).sorted()
        for index in units[number].operations {
            rows[operations[index].key] = nil
            if verdicts[index].isRefusal { continue }
            verdicts[index] = .refused(SetError("groupFailed", "Another row of its group failed.", blockedBy: names))
        }
        units[number].isOpen = false
    }

    /// Fails the units that refer to rows which the server has never had, until none is left.
    ///
    /// A row that this push creates counts, wherever it stands in the push, as long as its own unit holds. Rows that
    /// refer to each other in a circle hold each other up.
    private mutating func settleReferences() {
        var open = units.indices.filter { units[$0].isOpen }
        var hasMore = true
        while hasMore {
            hasMore = false
            open.removeAll { number in
                let missing = missingReferences(ofUnit: number)
                if missing.isEmpty { return false }
                block(unit: number, missing)
                hasMore = true
                return true
            }
        }
    }

    /// The rows that are neither on the server nor on their way, by the row that refers to them.
    private func missingReferences(ofUnit number: Int) -> [RowKey: [RowKey]] {
        var missing: [RowKey: [RowKey]] = [:]
        for index in units[number].operations {
            let key = operations[index].key
            let absent = rows[key]?.references.filter { stored[$0] == nil && (rows[$0]?.row.generation ?? 0) == 0 }
            if let absent, !absent.isEmpty { missing[key] = absent }
        }
        return missing
    }

    private mutating func block(unit number: Int, _ missing: [RowKey: [RowKey]]) {
        let culprits = units[number].operations.filter {
            missing[operations[$0].key] != nil && !verdicts[$0].isRefusal
        }
        for index in culprits {
            let names = Set(missing[operations[index].key, default: []].map(\.description)).sorted()
            verdicts[index] = .refused(
                SetError("blocked", "A row that it refers to is not here yet.", blockedBy: names))
        }
        fail(unit: number, culprits: culprits)
    }

    private mutating func collectChanges() {
        for operation in operations {
            guard let row = rows.removeValue(forKey: operation.key), row.hasChanged else { continue }
            let bornSeq = row.isBorn && row.row.isAlive ? nil : stored[operation.key]?.bornSeq
            changes.append(RowChange(key: operation.key, row: row.row, bornSeq: bornSeq))
        }
    }
}

// MARK: - Units

extension SetEvaluation {
    /// Gathers operations on one row, and on rows of one group, in the order in which they first appear.
    private static func units(_ operations: [RowOperation], _ groups: [[RowKey]]) -> [Unit] {
        var leaders: [RowKey: RowKey] = [:]
        func leader(_ key: RowKey) -> RowKey {
            var root = key
            while let next = leaders[root], next != root { root = next }
            var key = key
            while let next = leaders[key], next != root {
                leaders[key] = root
                key = next
            }
            return root
        }
        for group in groups where group.count > 1 {
            let first = leader(group[0])
            for key in group {
                leaders[leader(key)] = first
                leaders[key] = first
            }
        }
        var units: [Unit] = []
        units.reserveCapacity(operations.count)
        var positions: [RowKey: Int] = [:]
        for (index, operation) in operations.enumerated() {
            let key = leader(operation.key)
            if let position = positions[key] {
                units[position].operations.append(index)
            } else {
                positions[key] = units.count
                units.append(Unit(operations: [index], isGroup: leaders[operation.key] != nil))
            }
        }
        return units
    }
}
