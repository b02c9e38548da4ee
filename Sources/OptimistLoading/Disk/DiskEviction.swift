// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which files to remove when room is needed. Works on a copy of the index, because the decision takes longer
/// than readers should wait.
struct DiskEviction {
    let segments: [UInt32: DiskSegment]
    let active: UInt32?

    func vanished(from items: [DiskFolder.Item]) -> [UInt32] {
        let names = Set(items.map(\.name))
        return segments.filter { !names.contains($0.value.name) }.map(\.key)
    }

    /// The segment is nil if the index does not know the file.
    struct Victim {
        let item: DiskFolder.Item
        let segment: UInt32?
        let usedAt: UInt32
    }

    /// Returns all removable files, the least useful first: by the share of recently used bytes, then by the time of
    /// last use. If another cache wrote a file after this cache opened the folder, the time of writing counts as the
    /// time of use.
    func victims(among items: [DiskFolder.Item]) -> [Victim] {
        let ids = Dictionary(segments.map { ($0.value.name, $0.key) }, uniquingKeysWith: { first, _ in first })
        let ranked = items.filter(\.isSegment).compactMap { item -> (Victim, (Double, UInt32, UInt64))? in
            guard let id = ids[item.name], let segment = segments[id] else {
                return (Victim(item: item, segment: nil, usedAt: item.modifiedAt), (0, item.modifiedAt, 0))
            }
            if id == active || segment.pendingRecords > 0 { return nil }
            return (
                Victim(item: item, segment: id, usedAt: segment.usedAt),
                (segment.usedShare, segment.usedAt, segment.useNumber)
            )
        }
        return ranked.sorted { $0.1 < $1.1 }.map(\.0)
    }
}
