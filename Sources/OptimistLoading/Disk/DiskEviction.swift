// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which files go when room is needed. Made from a copy, since it takes longer than a reader should wait.
struct DiskEviction {
    let segments: [UInt32: DiskSegment]
    /// The segment that takes the next small record.
    let active: UInt32?

    /// Returns the segments whose files are not in the folder any more.
    func vanished(from items: [DiskFolder.Item]) -> [UInt32] {
        let names = Set(items.map(\.name))
        return segments.filter { !names.contains($0.value.name) }.map(\.key)
    }

    /// What may be removed to make room: a file, and the segment it is, if it is known.
    struct Victim {
        let item: DiskFolder.Item
        let segment: UInt32?
        let usedAt: UInt32
    }

    /// Returns all files that may go, the least useful first: those of which the smallest share was used lately and,
    /// among equals, what was used longest ago. What another cache wrote since the opening counts as used when written.
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
