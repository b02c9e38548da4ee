// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension TableProblem {
    /// Returns the app's triggers that write to synced tables even while the engine applies received rows. The engine
    /// does not capture such writes, so the device would differ from the server.
    ///
    /// > Source: Documentation/Gotchas.md, on triggers and `optimist_applying()`.
    static func triggers(
        of record: any SyncedRecord.Type, among synced: [any SyncedRecord.Type], in db: Database
    ) throws -> [TableProblem] {
        let table = record.databaseTableName
        let names = Set(synced.map { $0.databaseTableName.lowercased() })
        let triggers = try Row.fetchAll(
            db,
            sql: """
                SELECT name, lower(sql) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
                AND name NOT GLOB 'optimist_*' ORDER BY name
                """, arguments: [table])
        return triggers.filter { !asks($0[1]) && !written(by: $0[1]).isDisjoint(with: names) }.map { trigger in
            TableProblem(
                table, isFatal: false,
                says:
                    "the trigger \(trigger[0] as String) also writes to synced tables while the engine applies received rows, and these writes are not sent. Add the condition WHEN NOT optimist_applying()."
            )
        }
    }

    private static func asks(_ sql: String) -> Bool { sql.contains("optimist_applying") }

    /// - Parameter sql: The trigger's SQL in lower case.
    private static func written(by sql: String) -> Set<String> {
        let all = sql.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        let words = Array(all.drop { $0 != "begin" })
        let isResolution = Set(["abort", "fail", "ignore", "replace", "rollback"])
        return Set(
            words.indices.compactMap { place -> String? in
                let next = words[(place + 1)...].prefix(3)
                switch words[place] {
                case "into": return next.first
                case "delete" where next.first == "from": return next.dropFirst().first
                case "update" where next.first == "or" && isResolution.contains(next.dropFirst().first ?? ""):
                    return next.dropFirst(2).first
                case "update": return next.first
                default: return nil
                }
            })
    }
}
