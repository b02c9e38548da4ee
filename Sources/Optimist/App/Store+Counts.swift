// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB

/// The number of rows in each state. Always exact, even offline.
public struct SyncCounts: Sendable, Hashable {
    /// Rows that the server has not accepted yet.
    public var pending = 0
    /// Rejections that the app has neither retried nor discarded.
    public var rejected = 0
    /// Received rows that this device cannot apply yet, for example because of a constraint.
    public var parked = 0
    /// When the server last answered a push or the device last applied a page, by the device's clock. Nil if never.
    public var lastSync: Date?

    /// Creates counts of zero.
    public init() {}
}

extension SyncCounts {
    /// - Parameter layouts: The synced tables. Rows of other tables wait and are not counted.
    static func fetch(_ db: Database, of layouts: [TableLayout]) throws -> SyncCounts {
        func count(_ sql: String) throws -> Int { try Int.fetchOne(db.cachedStatement(sql: sql)) ?? 0 }
        var counts = SyncCounts()
        // SQLite can count all pending rows in an index, but that index does not contain the table.
        let isAll = try count("SELECT count(*) FROM optimist_table") == layouts.count
        let synced = isAll ? "" : "AND +tbl IN (\(layouts.map { String($0.number) }.joined(separator: ", ")))"
        counts.pending = try count("SELECT count(*) FROM optimist_edit WHERE 1 \(synced)")
        counts.rejected = try count("SELECT count(*) FROM optimist_rejection WHERE bundle IS NULL")
        counts.parked = try count("SELECT count(*) FROM optimist_parked WHERE 1 \(synced)")
        counts.lastSync = try Meta.int(.lastSync, in: db).map { Date(timeIntervalSince1970: Double($0) / 1000) }
        return counts
    }
}

extension Store {
    /// Counts the pending, rejected and parked rows.
    ///
    /// - Throws: `DatabaseError`.
    /// - Complexity: O(pending rows), from an index.
    public func counts() async throws -> SyncCounts { try await read { try SyncCounts.fetch($0, of: self.layouts) } }
}

extension Store {
    /// The ids under which this device has counted. The remote reports each id's share of a counter.
    func origins() async throws -> [String] { try await read { try DeviceIdentity.origins(in: $0) } }
}
