// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistServer
import Testing

@testable import OptimistPostgres

/// The PostgreSQL that these tests use if the environment names one. Otherwise they use the embedded store.
enum SharedDatabase {
    /// Connecting takes long on a busy machine.
    static let url = ProcessInfo.processInfo.environment["OPTIMIST_TEST_DATABASE"].map { url in
        url + (url.contains("?") ? "&" : "?") + "connect_timeout=300"
    }

    static var isUsed: Bool { url != nil }

    static let secret = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkrLw"

    /// A separate schema in the database, without tables.
    static func make(maxConnections: Int = 4) throws -> PostgresDatabase {
        let url = try #require(url)
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
        try PostgresConnection(url).script("CREATE SCHEMA \(name)")
        return PostgresDatabase(
            url: url + "&options=-csearch_path%3D\(name)", maxConnections: maxConnections)
    }

    /// A statement used only by tests.
    struct Statement: PostgresStatement {
        let sql: String
        var name: String { sql }
    }

    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension Trait where Self == ConditionTrait {
    /// For tests of the embedded store's file.
    static var embedded: Self { .disabled(if: SharedDatabase.isUsed, "It is about the embedded store.") }

    /// For tests that need PostgreSQL.
    static var postgres: Self {
        .enabled(
            if: SharedDatabase.isUsed, "OPTIMIST_TEST_DATABASE names no PostgreSQL: `make test` starts one of its own.")
    }
}
