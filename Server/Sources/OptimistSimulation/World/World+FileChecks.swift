// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension World {
    func checkFile(_ db: Database, _ name: String) throws {
        if try String.fetchOne(db, sql: "PRAGMA integrity_check") != "ok" { find("damaged: the file of \(name)") }
        try checkReferences(db, name)
        let isDevice = try db.tableExists("optimist_edit")
        for (what, sql) in isDevice ? Self.emptyAtRest : [] where try Int.fetchOne(db, sql: sql) != 0 {
            find("stuck: \(what) on \(name)")
        }
        for (what, most, sql) in isDevice ? bounds : serverBounds {
            let count = try Int.fetchOne(db, sql: sql) ?? 0
            if count > most { find("grown: \(count) \(what) on \(name)") }
        }
    }

    /// Pages are applied with deferred foreign keys, so this must hold at any time.
    func checkReferences(_ db: Database, _ name: String) throws {
        if try Row.fetchOne(db.cachedStatement(sql: "PRAGMA foreign_key_check")) != nil {
            find("broken reference: in the file of \(name)")
        }
    }

    private var rows: Int { users?.mostRows ?? 0 }

    /// The maximum number of rows in the engine's tables on a device.
    private var bounds: [(String, Int, String)] {
        [
            ("entries", rows, "SELECT count(*) FROM optimist_remote"),
            ("counters", rows * 20, "SELECT count(*) FROM optimist_counter"),
            ("devices", 200, "SELECT count(*) FROM optimist_node"),
            ("values in optimist_meta", 30, "SELECT count(*) FROM optimist_meta"),
            (
                "rejections and conflicts of a column at once", 40,
                """
                SELECT coalesce(max(count), 0) FROM (
                    SELECT count(*) AS count FROM optimist_rejection GROUP BY tbl, id, mine
                    UNION ALL SELECT count(*) FROM optimist_journal GROUP BY tbl, id, mine)
                """
            ),
        ]
    }

    /// The server records an epoch for each start, and a day for each day with a write.
    private var serverBounds: [(String, Int, String)] {
        [
            ("rows", rows, "SELECT count(*) FROM optimist_rows"),
            ("values of unique indexes", rows, "SELECT count(*) FROM optimist_index"),
            ("devices", 200, "SELECT count(*) FROM optimist_pushes"),
            ("days", 20, "SELECT count(*) FROM optimist_account_days"),
            ("lives", 200, "SELECT count(*) FROM optimist_account_epochs"),
            ("bytes of a row", 20_000, "SELECT coalesce(max(length(content)), 0) FROM optimist_rows"),
            (
                "accounts with a wrong number of rows", 0,
                """
                SELECT count(*) FROM optimist_accounts a WHERE a.row_count <> (SELECT count(*) FROM optimist_rows r
                WHERE r.account_id = a.account_id AND r.generation % 2 = 1)
                """
            ),
        ]
    }

    private static let emptyAtRest = [
        ("pending rows", "SELECT count(*) FROM optimist_edit"),
        ("parked rows", "SELECT count(*) FROM optimist_parked"),
        ("joins", "SELECT count(*) FROM optimist_join"),
        ("groups of all or nothing", "SELECT count(*) FROM optimist_whole"),
        ("rows that a snapshot did not bring", "SELECT count(*) FROM optimist_unseen"),
        ("values of unknown columns", "SELECT count(*) FROM optimist_unknown"),
        ("rows that the server does not have", "SELECT count(*) FROM optimist_remote WHERE generation = 0"),
    ]
}
