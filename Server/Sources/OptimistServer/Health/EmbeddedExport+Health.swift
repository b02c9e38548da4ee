// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EmbeddedExport {
    package enum HealthRow: Sendable {
        /// Launches, abrupt ends, unsent ends, crashes and hangs.
        case totals(HealthKey, numbers: [Int])
        case signature(app: String, key: String, content: String, lastDay: Int)
        case signatureTotal(HealthKey, signature: String, count: Int, unsent: Int)
    }

    package struct HealthKey: Sendable {
        package var app: String
        package var day: Int
        package var version: String
        package var build: String
        package var install: String
    }

    package func health(_ body: (HealthRow) throws -> Void) throws {
        try database.pool.read { db in
            let key = "app, day, version, build, install"
            let totals = try Row.fetchCursor(
                db,
                sql: "SELECT \(key), launches, abrupt_ends, unsent_ends, crashes, hangs FROM optimist_health_totals")
            while let row = try totals.next() {
                try body(.totals(HealthKey(row), numbers: (5...9).map { row[$0] }))
            }
            let signatures = try Row.fetchCursor(
                db, sql: "SELECT app, signature, content, last_day FROM optimist_health_signatures")
            while let row = try signatures.next() {
                try body(.signature(app: row[0], key: row[1], content: row[2], lastDay: row[3]))
            }
            let counts = try Row.fetchCursor(
                db, sql: "SELECT \(key), signature, count, unsent FROM optimist_health_signature_totals")
            while let row = try counts.next() {
                try body(.signatureTotal(HealthKey(row), signature: row[5], count: row[6], unsent: row[7]))
            }
        }
    }
}

extension EmbeddedExport.HealthKey {
    fileprivate init(_ row: Row) {
        self.init(app: row[0], day: row[1], version: row[2], build: row[3], install: row[4])
    }
}
