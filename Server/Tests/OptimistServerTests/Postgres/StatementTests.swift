// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistPostgres

/// Checks which tables the statements use, so that the tables can be distributed by account.
struct StatementTests {
    private static let accountTables = Set(PostgresTables.ofAccounts)
    private static let sharedTables = Set(PostgresTables.shared)

    private static let ofAccount: [any PostgresStatement] =
        RowStatement.allCases + AccountStatement.allCases + CopyStatement.allCases.filter(\.isOfAccount)
    private static let shared: [any PostgresStatement] =
        SharedStatement.allCases + HealthStatement.allCases + CopyStatement.allCases.filter { !$0.isOfAccount }
        + TransactionStatement.allCases + IdentityStatement.allCases + ServiceKeyStatement.allCases
        + WebhookStatement.allCases.filter { $0 != .set }

    private func tables(in sql: String) -> [String] {
        sql.matches(of: /optimist_[a-z_]+/).map { String($0.0) }
    }

    @Test func `every statement of an account binds each of its tables to that account`() {
        #expect(Self.ofAccount.count > 50)
        for statement in Self.ofAccount {
            let sql = statement.sql
            let touched = tables(in: sql).filter(Self.accountTables.contains)
            #expect(!touched.isEmpty, "\(statement.name)")
            #expect(isBound(sql, touches: touched.count), "\(statement.name): \(sql)")
            // Besides the account's tables only the epochs are allowed: they are the same on every machine.
            #expect(Set(tables(in: sql)).subtracting(Self.accountTables).isSubset(of: ["optimist_epochs"]), "\(sql)")
        }
    }

    @Test func `each account table's key begins with the account id, and every table is known`() {
        let made = PostgresTables.script.matches(of: /CREATE TABLE (\w+) \(([^;]*)/)
        #expect(Set(made.map { String($0.1) }) == Self.accountTables.union(Self.sharedTables))
        for table in made where Self.accountTables.contains(String(table.1)) {
            let columns = String(table.2)
            let key = /PRIMARY KEY \(account_id, |^\s*account_id text COLLATE "C" PRIMARY KEY/
            #expect(columns.contains(key), "\(table.1)")
        }
        for index in PostgresTables.script.matches(of: /CREATE INDEX (\w+) ON (\w+) \((\w+)/)
        where Self.accountTables.contains(String(index.2)) {
            // One index finds a person's memberships, on each machine for itself.
            #expect(index.3 == "account_id" || index.1 == "optimist_members_by_person")
        }
    }

    @Test func `statements that span accounts only read, and lock nothing`() {
        let spanning: [any PostgresStatement] = SpanningStatement.allCases + ViewStatement.allCases
        for statement in spanning {
            #expect(statement.sql.hasPrefix("SELECT") && !statement.sql.contains("FOR UPDATE"), "\(statement.sql)")
            #expect(Set(tables(in: statement.sql)).isDisjoint(with: ["optimist_rows", "optimist_index"]))
        }
    }

    @Test func `a replay of webhooks reads only the accounts' transactions`() {
        let sql = WebhookStatement.set.sql
        #expect(Set(tables(in: sql)) == ["optimist_settings", "optimist_accounts"])
        #expect(sql.hasPrefix("INSERT INTO optimist_settings"))
    }

    @Test func `no shared statement uses an account table`() {
        for statement in Self.shared {
            #expect(
                Set(tables(in: statement.sql)).isSubset(of: Self.sharedTables), "\(statement.name): \(statement.sql)")
        }
    }

    @Test func `a statement without its account is detected`() {
        #expect(!isBound("SELECT 1 FROM optimist_rows WHERE id = $1", touches: 1))
        #expect(!isBound("SELECT 1 FROM optimist_rows r, optimist_index i WHERE r.account_id = $1", touches: 2))
        #expect(!isBound("INSERT INTO optimist_rows (type, account_id) VALUES ($1, $2)", touches: 1))
        #expect(isBound("INSERT INTO optimist_rows (account_id, type) VALUES ($1, $2), ($1, $3)", touches: 1))
    }

    /// Whether a statement has `account_id = $1` once for each table that it uses, or writes it into every row.
    private func isBound(_ sql: String, touches: Int) -> Bool {
        if sql.contains("INSERT INTO") {
            let rows = sql.matches(of: /\(\$\d[^()]*\)/).map { String($0.0) }
            return sql.firstMatch(of: /INSERT INTO \w+( AS \w)?\s+\(\s*account_id/) != nil && !rows.isEmpty
                && rows.allSatisfy { $0.hasPrefix("($1,") }
        }
        return sql.matches(of: /account_id = \$1/).count >= touches
    }
}
