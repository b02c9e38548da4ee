// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
@_spi(Internals) import OptimistWire

/// The rows that a reader has received.
struct PageReading {
    private struct Brought: Hashable {
        let key: ConformanceKey
        let seq: Int64
    }

    /// A page orders a table's rows and its deleted rows separately.
    private struct Sequence: Hashable {
        let table: String
        let isDeleted: Bool
    }

    private(set) var cursor: String
    /// The latest version of each row.
    private(set) var rows: [ConformanceKey: RemotePage.Row.Content] = [:]
    private var brought: Set<Brought> = []
    private var lastSeq: Int64 = 0
    /// The last transaction in the previous page, and whether its rows left room for more.
    private var lastPage: (seq: Int64, hadRoom: Bool)?

    init(from cursor: String) { self.cursor = cursor }

    init(from cursor: String, snapshot: [RemotePage.Row]) {
        self.cursor = cursor
        for row in snapshot { rows[row.key] = row.content }
    }

    /// - Throws: ``ConformanceFinding`` if the page cannot follow the previous ones.
    mutating func take(_ page: RemotePage, for request: RemotePage.Request, _ guarantees: RemoteGuarantees) throws {
        guard page.from == request.cursor else {
            throw ConformanceFinding(
                .answers, "The page after cursor \(request.cursor) reports that it starts at \(page.from).")
        }
        let seqs = try checkedSeqs(page, request)
        if let first = seqs.min(), let lastPage, lastPage.hadRoom, first == lastPage.seq {
            throw ConformanceFinding(
                .keepsTransactionsWhole, "Transaction \(first) was split across two pages, although it fits into one.")
        }
        try check(cursor: page.cursor, after: request.cursor, guarantees, seqs.max())
        for (row, seq) in zip(page.rows, seqs) {
            rows[row.key] = row.content
            brought.insert(Brought(key: row.key, seq: seq))
        }
        if let last = seqs.max() {
            lastSeq = max(lastSeq, last)
            lastPage = (last, seqs.filter { $0 == last }.count < request.limit)
        }
        cursor = page.cursor
    }

    private func checkedSeqs(_ page: RemotePage, _ request: RemotePage.Request) throws -> [Int64] {
        var latest: [Sequence: Int64] = [:]
        return try page.rows.map { row in
            guard request.tables.contains(row.table) else {
                throw ConformanceFinding(.answers, "A page contains \(row.key) of a table that was not requested.")
            }
            guard let seq = row.seq else {
                throw ConformanceFinding(.ordersRows, "\(row.key) lacks the number of its last transaction.")
            }
            if brought.contains(Brought(key: row.key, seq: seq)) {
                throw ConformanceFinding(
                    .advancesCursors,
                    "The page after cursor \(page.from) delivers \(row.key) of transaction \(seq) again.")
            }
            let sequence = Sequence(table: row.table, isDeleted: row.isDeleted)
            let before = max(latest[sequence] ?? 0, lastSeq)
            if seq < before {
                throw ConformanceFinding(
                    .ordersRows, "\(row.key) of transaction \(seq) follows a row of transaction \(before).")
            }
            latest[sequence] = seq
            return seq
        }
    }

    private func check(
        cursor new: String, after old: String, _ guarantees: RemoteGuarantees, _ last: Int64?
    ) throws {
        guard guarantees.hasOrderedCursors else { return }
        guard let new = SyncState(new) else {
            throw ConformanceFinding(
                .advancesCursors, "It guarantees ordered cursors, but \(new) does not have the form `epoch.seq`.")
        }
        let earliest = max(SyncState(old)?.seq ?? 0, last.map { new.offset > 0 ? $0 - 1 : $0 } ?? 0)
        if new.seq < earliest {
            throw ConformanceFinding(
                .advancesCursors, "A page leads to cursor \(new), but should lead at least to transaction \(earliest).")
        }
    }
}

extension RemotePage.Row {
    var key: ConformanceKey { ConformanceKey(table: table, id: id) }
    var isDeleted: Bool { if case .deleted = content { true } else { false } }
    var seq: Int64? {
        switch content {
        case .row(let patch): patch.seq
        case .deleted(let tombstone): tombstone.seq
        }
    }
}
