// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
@_spi(Internals) import Optimist
import OptimistCore
import OptimistServer
import OptimistWire

/// Shows the sync state in a device's database.
struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the outbox, rejections, clocks and status of a device's database.",
        discussion:
            "Opens the file read-only. It shows which rows and columns are unsent, never their values.")

    @Argument(help: "The database file of an app.")
    var file: String

    @Option(help: "The maximum number of pending rows to list.")
    var limit = 100

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        try await explainingErrors(of: "inspect", at: file) {
            let inspection = try DatabaseInspection(of: URL(filePath: file), limit: limit)
            say(json ? inspection.json.description : inspection.report)
        }
    }
}

extension DatabaseInspection {
    fileprivate var report: String {
        var lines = [
            "device      \(device)",
            "account     \(account ?? "none: it has never synced")",
            "last sync   \(lastSync.map(Self.text) ?? "never")",
            "last push   \(lastPush)",
            "clock       \(clockCeiling.map { "not after \(Self.text($0))" } ?? "no timestamps yet")",
            "format      \(version)",
            "",
        ]
        for table in tables {
            lines.append("table \(table.name): \(table.rows) rows, received up to \(table.cursor ?? "nothing yet")")
        }
        lines.append("\(pendingCount) pending, \(rejections.count) rejected, \(parked.count) parked")
        lines += pending.map { row in
            let columns = row.columns.keys.sorted().joined(separator: ", ")
            let state = row.blockedBy.map { "waits for \($0)" } ?? (row.isUnanswered ? "sent, unanswered" : "unsent")
            let answer = row.waitReason.map { "  \($0.code): \($0.message)" } ?? ""
            let next = row.nextAttempt.map { "  next attempt \(Self.text($0))" } ?? ""
            let line = "  \(row.table) \(row.rowID)  \(row.kind.rawValue)  [\(columns)]  since \(Self.text(row.since))"
            return "\(line)  \(state)\(answer)\(next)"
        }
        if pendingCount > pending.count { lines.append("  … and \(pendingCount - pending.count) more") }
        lines += rejections.map {
            "  rejected: \($0.table) \($0.rowID)  \($0.kind.rawValue)  \($0.code): \($0.message)"
        }
        lines += parked.map { "  parked: \($0.table):\($0.rowID)  \($0.reason)" }
        return lines.map { $0.shown() }.joined(separator: "\n")
    }

    fileprivate var json: JSON {
        [
            "device": .string(device), "account": account.map(JSON.string) ?? .null,
            "lastSync": lastSync.map { .string(Self.text($0)) } ?? .null, "lastPush": .int(lastPush),
            "clockCeiling": clockCeiling.map { .string(Self.text($0)) } ?? .null, "format": .int(Int64(version)),
            "tables": .array(
                tables.map {
                    [
                        "name": .string($0.name), "rows": .int(Int64($0.rows)),
                        "cursor": $0.cursor.map(JSON.string) ?? .null,
                    ]
                }),
            "pendingCount": .int(Int64(pendingCount)),
            "pending": .array(
                pending.map { row in
                    [
                        "table": .string(row.table), "id": .string(row.rowID), "kind": .string(row.kind.rawValue),
                        "columns": .object(
                            JSONObject(
                                row.columns.sorted { $0.key < $1.key }.map { ($0.key, .string(Self.text($0.value))) })),
                        "since": .string(Self.text(row.since)), "unanswered": .bool(row.isUnanswered),
                        "blockedBy": row.blockedBy.map(JSON.string) ?? .null,
                        "waitReason": row.waitReason.map(Self.json) ?? .null,
                        "nextAttempt": row.nextAttempt.map { .string(Self.text($0)) } ?? .null,
                    ]
                }),
            "rejections": .array(
                rejections.map { rejection in
                    [
                        "table": .string(rejection.table), "id": .string(rejection.rowID),
                        "kind": .string(rejection.kind.rawValue), "code": .string(rejection.code),
                        "column": rejection.column.map(JSON.string) ?? .null, "message": .string(rejection.message),
                        "at": .string(Self.text(rejection.date)),
                    ]
                }),
            "parked": .array(
                parked.map { row in
                    ["table": .string(row.table), "id": .string(row.rowID), "reason": .string("\(row.reason)")]
                }),
        ]
    }

    private static func json(_ reason: DeferralReason) -> JSON {
        [
            "code": .string(reason.code), "column": reason.column.map(JSON.string) ?? .null,
            "message": .string(reason.message),
        ]
    }

    private static func text(_ date: Date) -> String {
        date.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
