// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

extension HealthSummary {
    package var lines: [String] {
        guard let app, !versions.isEmpty else { return ["No device has reported its health yet."] }
        var lines = [
            "\(app)\(apps.count > 1 ? "  (also stored: \(apps.filter { $0 != app }.joined(separator: ", ")))" : "")"
        ]
        let head = [
            "version", "crash-free people", "95 %", "crash-free launches", "95 %", "crashes", "kills", "hangs", "days",
        ]
        let rows = versions.map { version in
            [
                version.version, version.crashFreePeople.text, version.crashFreePeople.intervalText,
                version.crashFreeLaunches.text, version.crashFreeLaunches.intervalText, "\(version.crashes)",
                "\(version.kills)", "\(version.hangs)", Self.days(version.firstDay, version.lastDay),
            ]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        lines += ([head] + rows).map { row in
            zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
                .trimmingCharacters(in: .whitespaces)
        }
        for signature in signatures {
            let sums = signature.sums
            lines += [
                "", Self.title(signature.signature),
                """
                  \(Self.count(sums.people, "person", "people")), \(Self.count(sums.count, "time", "times")), \(sums.unsent) with unsent rows, in \
                \(sums.versions.joined(separator: ", ")), \(Self.days(sums.firstDay, sums.lastDay))
                """,
            ]
            lines += signature.signature.frames.map { "    at \(Self.place($0))" } + ["    id \(signature.id)"]
        }
        return lines
    }

    package static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }

    private static func days(_ first: Int, _ last: Int) -> String {
        first == last ? text(day: first) : "\(text(day: first)) to \(text(day: last))"
    }
}

extension Share {
    /// Such as `97.5 % (39 of 40)`.
    package var text: String {
        guard let value else { return "none" }
        return "\(Self.percent(value)) % (\(part) of \(whole))"
    }

    /// Such as `87.1 to 99.6`.
    package var intervalText: String {
        "\(Self.percent(interval.lowerBound)) to \(Self.percent(interval.upperBound))"
    }

    /// Rounds to 100 only if the share is 1.
    package static func percent(_ value: Double) -> String {
        let tenths = (value * 1000).rounded()
        let shown = tenths >= 1000 && value < 1 ? 999 : tenths
        return "\(shown / 10)"
    }
}
