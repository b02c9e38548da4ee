// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which files go when room is needed. Made from a copy, since it takes longer than a reader should wait.
struct DiskEviction {
    let segments: [UInt32: DiskSegment]
    /// The segment that takes the next small record.
    let active: UInt32?

    /// Returns the segments whose files are no longer in the folder.
    func vanished(from items: [DiskFolder.Item]) -> [UInt32] {
        let names = Set(items.map(\.name))
        return segments.filter { !names.contains($0.value.name) }.map(\.key)
    }

    /// A file that may be removed to make room, and the segment it is, if that is known.
    struct Victim {
        let item: DiskFolder.Item
        let segment: UInt32?
        let usedAt: UInt32
    }

    /// Returns all files that may go, the least useful first: the files with the smallest share of recently used bytes
    /// and, among equals, those that were used longest ago. A record that another cache wrote since the opening counts
    /// as used when it was written.
    func victims(among items: [DiskFolder.Item]) -> [Victim] {
        let ids = Dictionary(segments.map { ($0.value.name, $0.key) }, uniquingKeysWith: { first, _ in first })
        let ranked = items.filter(\.isSegment).compactMap { item -> (Victim, (Double, UInt32, UInt64))? in
            guard let id = ids[item.name], let segment = segments[id] else {
                return (Victim(item: item, segment: nil, usedAt: item.modifiedAt), (0, item.modifiedAt, 0))
            }
            // A record that is just being written is in no hurry to go either.
            if id == active || segment.pendingRecords > 0 { return nil }
            return (
                Victim(item: item, segment: id, usedAt: segment.usedAt),
                (segment.usedShare, segment.usedAt, segment.useNumber)
            )
        }
        return ranked.sorted { $0.1 < $1.1 }.map(\.0)
    }
}
