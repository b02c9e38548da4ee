// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

extension SQLiteAccountStore {
    private static let selection = """
        SELECT k.value, u.value FROM optimist_settings k
        LEFT JOIN optimist_settings u ON u.name = 'keyused.' || substr(k.name, 5)
        """

    func serviceKey(id: String) async throws -> StoredServiceKey? {
        try await reader.read { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "\(Self.selection) WHERE k.name = ?"),
                arguments: [ServiceKey.setting(of: id)]
            ).flatMap { StoredServiceKey(json: $0[0], usedAt: $0[1]) }
        }
    }

    func serviceKeys() async throws -> [StoredServiceKey] {
        try await reader.read { db in
            try Row.fetchAll(db, sql: "\(Self.selection) WHERE k.name GLOB 'key.*' ORDER BY k.name")
                .compactMap { StoredServiceKey(json: $0[0], usedAt: $0[1]) }
        }
    }

    func add(_ key: ServiceKey) async throws {
        let json = try key.json
        try await commits.write { db in
            try db.execute(
                sql: "INSERT INTO optimist_settings (name, value) VALUES (?, ?)",
                arguments: [ServiceKey.setting(of: key.id), json])
        }
    }

    func revoke(serviceKey id: String, at time: Double) async throws {
        try await commits.write { db in
            let name = ServiceKey.setting(of: id)
            let text = try String.fetchOne(
                db, sql: "SELECT value FROM optimist_settings WHERE name = ?", arguments: [name])
            guard var key = text.flatMap({ StoredServiceKey(json: $0, usedAt: nil)?.key }), key.revokedAt == nil else {
                return
            }
            key.revokedAt = time
            try db.execute(
                sql: "UPDATE optimist_settings SET value = ? WHERE name = ?", arguments: [try key.json, name])
        }
    }

    func noteUse(ofServiceKey id: String, at time: Double) async throws {
        try await commits.write { db in
            try db.execute(
                sql: """
                    INSERT INTO optimist_settings (name, value) VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    WHERE CAST(excluded.value AS REAL) > CAST(value AS REAL)
                    """, arguments: [ServiceKey.useSetting(of: id), "\(time)"])
        }
    }
}
