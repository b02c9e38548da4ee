// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

extension SQLiteAccountStore {
    func webhooks() async throws -> [StoredWebhook] {
        try await reader.read { db in
            WebhookSetting.webhooks(
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT name, value FROM optimist_settings
                        WHERE name GLOB 'webhook.*' OR name GLOB 'webhookseen.*'
                        """
                ).map { ($0[0], $0[1]) })
        }
    }

    func record(of webhook: String) async throws -> WebhookRecord {
        try await reader.read { db in
            StoredWebhook(name: webhook, record: try Self.setting(WebhookSetting.record(webhook), db), report: nil)
                .record
        }
    }

    func change(webhook name: String, _ change: @escaping @Sendable (inout WebhookRecord) -> Void) async throws {
        try await commits.write { db in
            let setting = WebhookSetting.record(name)
            var record = StoredWebhook(name: name, record: try Self.setting(setting, db), report: nil).record
            change(&record)
            try Self.keep(try record.webhookSetting, as: setting, db)
        }
    }

    func keep(_ report: WebhookReport, of webhook: String) async throws {
        let text = try report.webhookSetting
        try await commits.write { try Self.keep(text, as: WebhookSetting.report(webhook), $0) }
    }

    func position(of webhook: String, in account: String) async throws -> Int64 {
        try await reader.read {
            try Self.setting(WebhookSetting.position(webhook, account), $0).flatMap(Int64.init) ?? 0
        }
    }

    func move(positionOf webhook: String, in account: String, from old: Int64, to new: Int64) async throws -> Bool {
        let name = WebhookSetting.position(webhook, account)
        return try await commits.write { db in
            if old == 0 {
                try db.execute(
                    sql: """
                        INSERT INTO optimist_settings (name, value) VALUES (?, ?)
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value = '0'
                        """, arguments: [name, "\(new)"])
            } else {
                try db.execute(
                    sql: "UPDATE optimist_settings SET value = ? WHERE name = ? AND value = ?",
                    arguments: ["\(new)", name, "\(old)"])
            }
            return db.changesCount == 1
        }
    }

    func set(positionsOf webhook: String, to seq: Int64, in account: String?) async throws {
        try await commits.write { db in
            try db.execute(
                sql: """
                    INSERT INTO optimist_settings (name, value)
                    SELECT ?1 || account_id || '.' || ?2, CAST(min(?3, seq) AS TEXT) FROM optimist_accounts
                    WHERE ?4 IS NULL OR account_id = ?4
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """, arguments: [WebhookSetting.positions, webhook, seq, account])
        }
    }

    func forgetPositions(in account: String) async throws {
        let (start, end) = WebhookSetting.positions(in: account)
        try await commits.write { db in
            try db.execute(
                sql: "DELETE FROM optimist_settings WHERE name >= ? AND name < ?", arguments: [start, end])
        }
    }

    private static func setting(_ name: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT value FROM optimist_settings WHERE name = ?"), arguments: [name])
    }

    private static func keep(_ value: String, as name: String, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO optimist_settings (name, value) VALUES (?, ?)", arguments: [name, value])
    }
}
