// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Packs totals into reports of a size that the server accepts.
enum HealthParcels {
    /// Splits the totals into groups that each fit into one report. A total with many signatures is split into parts
    /// that all repeat its numbers.
    ///
    /// - Parameter bytes: The size limit of one report's totals.
    static func pack(_ totals: [HealthTotals], bytes: Int = HealthReport.Limit.bytes - 1_000) -> [[HealthTotals]] {
        var parcels: [[HealthTotals]] = []
        var room = 0
        for part in totals.flatMap({ parts(of: $0, bytes: bytes) }) {
            let size = part.json.bytes.count + 1
            if size > room || (parcels.last?.count ?? 0) >= HealthReport.Limit.totals {
                parcels.append([])
                room = bytes
            }
            parcels[parcels.count - 1].append(part)
            room -= size
        }
        return parcels
    }

    private static func parts(of totals: HealthTotals, bytes: Int) -> [HealthTotals] {
        var bare = totals
        bare.signatures = []
        let empty = bare.json.bytes.count + 1
        var parts = [bare]
        var room = bytes - empty
        for signature in totals.signatures {
            let size = signature.json.bytes.count + 1
            if size > room || parts[parts.count - 1].signatures.count >= HealthReport.Limit.signatures {
                parts.append(bare)
                room = bytes - empty
            }
            parts[parts.count - 1].signatures.append(signature)
            room -= size
        }
        return parts
    }
}
