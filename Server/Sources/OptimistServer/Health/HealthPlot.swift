// This source file is part of the Optimist open source project, under the MIT licence.

package struct HealthPlot: Sendable {
    private let versions: [HealthSums.Version]

    private static let maxVersions = 12

    package init(_ versions: [HealthSums.Version]) { self.versions = Array(versions.prefix(Self.maxVersions)) }

    private enum Size {
        static let width = 420.0
        static let name = 74.0
        static let margin = 14.0
        static let row = 34.0
        static let head = 46.0
    }

    /// The lowest lower bound of the intervals, rounded down to a twentieth, at most 0.95.
    private var lowest: Double {
        let least = versions.map(\.crashFreePeople.interval.lowerBound).min() ?? 0
        return min(0.95, (least * 20).rounded(.down) / 20)
    }

    private func x(_ share: Double) -> Double {
        let left = Size.margin + Size.name
        let room = Size.width - left - Size.margin
        return ((left + (share - lowest) / (1 - lowest) * room) * 10).rounded() / 10
    }

    package var svg: String {
        let height = Size.head + Size.row * Double(versions.count) + 26
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Size.width)) \(Int(height))" role="img" \
            aria-label="Crash-free people by version">
            <text class="name" x="\(Size.margin)" y="24">Crash-free people, with the 95 % interval</text>
            """
        ]
        let end = Size.head + Size.row * Double(versions.count)
        for step in 0...4 {
            let share = lowest + (1 - lowest) * Double(step) / 4
            let anchor = step == 4 ? "end" : step == 0 ? "start" : "middle"
            parts.append(
                "<path class=\"grid\" d=\"M\(x(share)) \(Size.head - 8)V\(end)\"/>"
                    + "<text class=\"tick\" text-anchor=\"\(anchor)\" x=\"\(x(share))\" y=\"\(end + 17)\">"
                    + "\(Share.percent(share)) %</text>")
        }
        for (index, version) in versions.enumerated() {
            parts.append(row(version, at: Size.head + Size.row * Double(index) + 8))
        }
        return (parts + ["</svg>"]).joined(separator: "\n")
    }

    private func row(_ version: HealthSums.Version, at y: Double) -> String {
        let share = version.crashFreePeople
        let (low, high) = (x(share.interval.lowerBound), x(share.interval.upperBound))
        let name = version.version.count > 10 ? version.version.prefix(9) + "…" : version.version[...]
        return """
            <g><title>\(version.version.inHTML): \(share.text), \(share.intervalText)</title>
            <text class="name" x="\(Size.margin)" y="\(y + 4)">\(String(name).inHTML)</text>
            <path class="reach" d="M\(low) \(y)H\(high)"/>
            <circle class="dot" cx="\(x(share.value ?? 1))" cy="\(y)" r="5"/></g>
            """
    }
}
