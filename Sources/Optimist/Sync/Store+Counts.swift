// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB

/// How many rows are in which state. Exact at any moment, offline too.
public struct SyncCounts: Sendable, Hashable {
    /// Rows that the server has not accepted yet.
    public var pending = 0
    /// Rejections that the app has not retried or discarded.
    public var rejected = 0
    /// Rows that this device received and cannot apply yet, such as for a constraint of a table.
    public var parked = 0
    /// When a push was last answered or a page last applied, by the device's clock. Nil: never.
    public var lastSync: Date?

    /// Makes counts of zero.
    public init() {}
}

extension SyncCounts {
    /// - Parameter layouts: The tables that are synced. Unsent rows of a table that is no longer synced wait until it
    ///   is again.
    static func fetch(_ db: Database, of layouts: [TableLayout]) throws -> SyncCounts {
        func count(_ sql: String) throws -> Int { try Int.fetchOne(db.cachedStatement(sql: sql)) ?? 0 }
        var counts = SyncCounts()
        // An index alone tells how many rows are pending, but not which tables they belong to.
        let isAll = try count("SELECT count(*) FROM optimist_table") == layouts.count
        let synced = isAll ? "" : "AND +tbl IN (\(layouts.map { String($0.number) }.joined(separator: ", ")))"
        counts.pending = try count("SELECT count(*) FROM optimist_row WHERE pending IS NOT NULL \(synced)")
        counts.rejected = try count("SELECT count(*) FROM optimist_rejection WHERE bundle IS NULL")
        counts.parked = try count("SELECT count(*) FROM optimist_parked WHERE 1 \(synced)")
        counts.lastSync = try Meta.int(.lastSync, in: db).map { Date(timeIntervalSince1970: Double($0) / 1000) }
        return counts
    }
}

extension Store {
    /// Counts what is pending, rejected and parked now.
    ///
    /// - Throws: `DatabaseError`.
    /// - Complexity: O(pending rows), in an index.
    public func counts() async throws -> SyncCounts { try await read { try SyncCounts.fetch($0, of: self.layouts) } }
}
