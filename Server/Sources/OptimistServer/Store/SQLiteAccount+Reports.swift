// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension SQLiteAccount {
    func reportedSeq() throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT reported FROM optimist_accounts WHERE account_id = ?"), arguments: [account]
        )
            ?? 0
    }

    func noteReported(_ seq: Int64) throws {
        try db.execute(
            sql: "UPDATE optimist_accounts SET reported = max(reported, ?) WHERE account_id = ?",
            arguments: [seq, account])
    }
}
