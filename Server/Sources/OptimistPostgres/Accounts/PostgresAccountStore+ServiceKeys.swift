// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

extension PostgresAccountStore {
    func serviceKey(id: String) async throws -> StoredServiceKey? {
        try await pool.run { connection in
            let rows = try connection.query(ServiceKeyStatement.one, [.text(ServiceKey.setting(of: id))])
            return rows.count == 0 ? nil : StoredServiceKey(json: rows.text(0, 0), usedAt: rows.textIfAny(0, 1))
        }
    }

    func serviceKeys() async throws -> [StoredServiceKey] {
        try await pool.run { connection in
            let rows = try connection.query(ServiceKeyStatement.all)
            return (0..<rows.count).compactMap {
                StoredServiceKey(json: rows.text($0, 0), usedAt: rows.textIfAny($0, 1))
            }
        }
    }

    func add(_ key: ServiceKey) async throws {
        let json = try key.json
        try await pool.run {
            _ = try $0.query(ServiceKeyStatement.add, [.text(ServiceKey.setting(of: key.id)), .text(json)])
        }
    }

    func revoke(serviceKey id: String, at time: Double) async throws {
        try await pool.run { connection in
            try connection.transaction { connection in
                let name = ServiceKey.setting(of: id)
                let rows = try connection.query(ServiceKeyStatement.lock, [.text(name)])
                guard rows.count == 1, var key = StoredServiceKey(json: rows.text(0, 0), usedAt: nil)?.key,
                    key.revokedAt == nil
                else { return }
                key.revokedAt = time
                guard let json = try? key.json else { return }
                _ = try connection.query(SharedStatement.keepSetting, [.text(name), .text(json)])
            }
        }
    }

    func noteUse(ofServiceKey id: String, at time: Double) async throws {
        try await pool.run {
            _ = try $0.query(
                SharedStatement.raiseSetting, [.text(ServiceKey.useSetting(of: id)), .text("\(time)")])
        }
    }
}

/// The statements about service keys, which belong to no account.
enum ServiceKeyStatement: String, PostgresStatement, CaseIterable {
    case one, all, add, lock

    var sql: String {
        switch self {
        case .one: "\(Self.selection) WHERE k.name = $1"
        case .all: "\(Self.selection) WHERE k.name LIKE 'key.%' ORDER BY k.name"
        case .add: "INSERT INTO optimist_settings (name, value) VALUES ($1, $2)"
        case .lock: "SELECT value FROM optimist_settings WHERE name = $1 FOR UPDATE"
        }
    }

    private static let selection = """
        SELECT k.value, u.value FROM optimist_settings k
        LEFT JOIN optimist_settings u ON u.name = 'keyused.' || substr(k.name, 5)
        """
}
