// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

extension PostgresAccountStore {
    func webhooks() async throws -> [StoredWebhook] {
        try await pool.run { connection in
            let rows = try connection.query(WebhookStatement.all)
            return WebhookSetting.webhooks((0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) })
        }
    }

    func record(of webhook: String) async throws -> WebhookRecord {
        let text = try await setting(WebhookSetting.record(webhook))
        return StoredWebhook(name: webhook, record: text, report: nil).record
    }

    func change(webhook name: String, _ change: @escaping @Sendable (inout WebhookRecord) -> Void) async throws {
        try await pool.run { connection in
            try connection.transaction { connection in
                let setting = PostgresValue.text(WebhookSetting.record(name))
                _ = try connection.query(WebhookStatement.begin, [setting])
                let rows = try connection.query(ServiceKeyStatement.lock, [setting])
                var record = StoredWebhook(name: name, record: rows.text(0, 0), report: nil).record
                change(&record)
                _ = try connection.query(SharedStatement.keepSetting, [setting, .text(try record.webhookSetting)])
            }
        }
    }

    func keep(_ report: WebhookReport, of webhook: String) async throws {
        let text = try report.webhookSetting
        try await pool.run {
            _ = try $0.query(SharedStatement.keepSetting, [.text(WebhookSetting.report(webhook)), .text(text)])
        }
    }

    func position(of webhook: String, in account: String) async throws -> Int64 {
        try await setting(WebhookSetting.position(webhook, account)).flatMap(Int64.init) ?? 0
    }

    func move(positionOf webhook: String, in account: String, from old: Int64, to new: Int64) async throws -> Bool {
        let name = WebhookSetting.position(webhook, account)
        return try await pool.run { connection in
            let answer =
                old == 0
                ? try connection.query(WebhookStatement.first, [.text(name), .text("\(new)")])
                : try connection.query(WebhookStatement.move, [.text(name), .text("\(new)"), .text("\(old)")])
            return answer.changedCount == 1
        }
    }

    func set(positionsOf webhook: String, to seq: Int64, in account: String?) async throws {
        let values: [PostgresValue] = [
            .text(WebhookSetting.positions), .text(webhook), .int(seq), account.map { .text($0) } ?? .null,
        ]
        try await pool.run { _ = try $0.query(WebhookStatement.set, values) }
    }

    func forgetPositions(in account: String) async throws {
        let (start, end) = WebhookSetting.positions(in: account)
        try await pool.run { _ = try $0.query(WebhookStatement.forget, [.text(start), .text(end)]) }
    }

    private func setting(_ name: String) async throws -> String? {
        try await pool.run { connection in
            let rows = try connection.query(SharedStatement.setting, [.text(name)])
            return rows.count == 0 ? nil : rows.text(0, 0)
        }
    }
}

/// The statements about webhooks, whose settings belong to no account.
enum WebhookStatement: String, PostgresStatement, CaseIterable {
    case all, begin, first, move, set, forget

    var sql: String {
        switch self {
        case .all:
            """
            SELECT name, value FROM optimist_settings WHERE name LIKE 'webhook.%' OR name LIKE 'webhookseen.%'
            """
        case .begin: "INSERT INTO optimist_settings (name, value) VALUES ($1, '{}') ON CONFLICT DO NOTHING"
        case .first:
            """
            INSERT INTO optimist_settings AS s (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE s.value = '0'
            """
        case .move: "UPDATE optimist_settings SET value = $2 WHERE name = $1 AND value = $3"
        case .set:
            """
            INSERT INTO optimist_settings (name, value)
            SELECT $1::text || account_id || '.' || $2::text, least($3::bigint, seq)::text FROM optimist_accounts
            WHERE $4::text IS NULL OR account_id = $4::text
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """
        case .forget: "DELETE FROM optimist_settings WHERE name >= $1 AND name < $2"
        }
    }
}
