// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) package import OptimistWire

package struct HealthSummary: Sendable {
    package var apps: [String]
    /// Nil if nothing is stored.
    package var app: String?
    /// Latest version first.
    package var versions: [HealthSums.Version]
    /// The signatures that affect the most people come first.
    package var signatures: [Signature]

    package struct Signature: Sendable {
        package var signature: CrashSignature
        package var sums: HealthSums.Signature

        package var id: String { sums.id }
    }

    package init(_ sums: HealthSums) {
        apps = sums.apps
        app = sums.app
        versions = sums.versions.sorted { $0.version.compare($1.version, options: .numeric) == .orderedDescending }
        signatures = sums.signatures.compactMap { sums in
            guard let json = try? JSON(parsing: sums.content.utf8), let signature = try? CrashSignature(json: json)
            else {
                return nil
            }
            var sums = sums
            sums.versions.sort { $0.compare($1, options: .numeric) == .orderedAscending }
            return Signature(signature: signature, sums: sums)
        }
    }
}

package struct Share: Hashable, Sendable {
    package var part: Int
    package var whole: Int

    package init(_ part: Int, of whole: Int) {
        self.part = part
        self.whole = whole
    }

    /// Between 0 and 1. Nil if the whole is 0.
    package var value: Double? { whole > 0 ? Double(part) / Double(whole) : nil }

    /// The 95 % confidence interval.
    ///
    /// > Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927).
    package var interval: ClosedRange<Double> {
        guard let value else { return 0...1 }
        let (z, n) = (1.959_964, Double(whole))
        let middle = (value + z * z / (2 * n)) / (1 + z * z / n)
        let reach = z / (1 + z * z / n) * (value * (1 - value) / n + z * z / (4 * n * n)).squareRoot()
        return max(0, middle - reach)...min(1, max(middle + reach, 0))
    }
}

extension HealthSums.Version {
    package var crashFreePeople: Share { Share(people - crashedPeople, of: people) }
    package var crashFreeLaunches: Share { Share(launches - crashes, of: launches) }
    /// How often the app was killed in the foreground.
    package var kills: Int { abruptEnds - crashes }
}

extension HealthSummary {
    /// As `2026-11-26`.
    package static func text(day: Int) -> String {
        Date(timeIntervalSince1970: Double(day) * 86_400).formatted(.iso8601.year().month().day())
    }

    /// The error and its place.
    package static func title(_ signature: CrashSignature) -> String {
        let what = signature.message.isEmpty ? signature.kind : "\(signature.kind): \(signature.message)"
        return signature.frames.first.map { "\(what) in \(place($0))" } ?? what
    }

    package static func place(_ frame: CrashSignature.Frame) -> String {
        let name = frame.function ?? "\(frame.image.prefix(8))+0x\(String(frame.offset, radix: 16))"
        guard let file = frame.file else { return name }
        return "\(name) (\(file)\(frame.line.map { ":\($0)" } ?? ""))"
    }
}
