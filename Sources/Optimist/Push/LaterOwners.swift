// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Holds back rows that refer to a deleted row whose next life is unsent. Otherwise the server would delete them with
/// the ended life (M2).
struct LaterOwners {
    private var entries: RowEntryTable
    private let tables: AppTables
    private let now: Int64
    private var isUnsent: [RowRef: Bool] = [:]
    private(set) var heldCount = 0

    init(_ entries: RowEntryTable, _ tables: AppTables, now: Int64) {
        self.entries = entries
        self.tables = tables
        self.now = now
    }

    mutating func sent(_ unit: [PushAssembly.Unsent]) {
        for unsent in unit where unsent.entry.isAlive && unsent.entry.generation > 1 {
            isUnsent[unsent.entry.ref] = false
        }
    }

    /// If a unit must wait for an owner, holds the unit as if the server had answered that this owner blocks it.
    mutating func holdUp(_ unit: [PushAssembly.Unsent]) throws -> Bool {
        let refs = Set(unit.map(\.entry.ref))
        for unsent in unit where unsent.entry.isAlive {
            for owner in owners(of: unsent) where try !refs.contains(owner) && isToCome(owner) {
                _ = try entries.hold(unsent.entry, until: owner, tables, at: now)
                heldCount += 1
                return true
            }
        }
        return false
    }

    private func owners(of unsent: PushAssembly.Unsent) -> [RowRef] {
        let layout = unsent.layout
        return layout.columns(in: unsent.entry.dirty).compactMap { tables.owner(by: $0, unsent.values[$0.name]) }
    }

    private mutating func isToCome(_ owner: RowRef) throws -> Bool {
        if let known = isUnsent[owner] { return known }
        let isToCome = try entries.entry(owner).map { $0.generation > 1 && $0.isToBegin } ?? false
        isUnsent[owner] = isToCome
        return isToCome
    }
}

extension RowEntry {
    /// Whether the device will send a life that the server never had or has lost.
    var isToBegin: Bool { isPending && isAlive && (!isKnownToServer || isRestored) }
}
