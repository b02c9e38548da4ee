// This source file is part of the Optimist open source project, under the MIT licence.

/// Removes events from a failing plan while it still fails in the same way.
///
/// > Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002 (ddmin).
package enum Shrinking {
    /// - Parameters:
    ///   - findings: The plan's findings. A shorter plan must have a finding of the same kind as the first.
    ///   - attempts: The maximum number of runs. Default: 400.
    package static func shrink(
        _ plan: Plan, _ findings: [String], attempts: Int = 400,
        by run: (Plan) -> [String] = { WorldRun.run($0).findings }
    ) -> Plan {
        guard let kind = findings.first?.prefix(while: { $0 != ":" }) else { return plan }
        var (best, parts, left) = (plan, 2, attempts)
        while best.events.count > 1, left > 0 {
            let size = max(1, (best.events.count + parts - 1) / parts)
            var hasShrunk = false
            for start in stride(from: 0, to: best.events.count, by: size) where left > 0 {
                var candidate = best
                candidate.events.removeSubrange(start..<min(start + size, best.events.count))
                left -= 1
                if run(candidate).contains(where: { $0.hasPrefix(kind) }) {
                    best = candidate
                    hasShrunk = true
                    break
                }
            }
            if hasShrunk {
                parts = max(2, parts - 1)
            } else if size == 1 {
                break
            } else {
                parts = min(best.events.count, parts * 2)
            }
        }
        return best
    }
}
