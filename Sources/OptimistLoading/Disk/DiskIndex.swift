// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides where records are written, and which are valid or must be removed. It does not touch files, but returns the
/// steps to take.
///
/// Keys are known by 64-bit digests. The reader of a record compares the key itself.
///
/// To track recent use cheaply, time is divided into eras: an era ends when a quarter of the usable bytes have been
/// used in it. Bytes used in the current or the previous era are *recent*: a quarter to a half of the usable bytes.
struct DiskIndex {
    let limits: DiskLimits
    /// Whether the folder was scanned. Before that, the index is empty and collects the keys to remove.
    var isOpen = false
    /// Whether all files must be removed instead of scanned.
    private(set) var isToBeEmptied = false
    /// Keys to remove from the folder after it is scanned.
    private var unseenRemovals: Set<UInt64> = []
    var counts = DiskCounts()
    /// The interval without writes after a failure, in seconds since 1970.
    var pause: Range<Double>?

    /// How many bytes of files may be created before the folder is listed again.
    var allowanceBytes = 0

    private(set) var places: [UInt64: RecordPlace] = [:]
    private(set) var segments: [UInt32: DiskSegment] = [:]
    private(set) var active: UInt32?

    private var lastStamp: UInt64 = 0
    private var lastSegment: UInt32 = 0
    private var lastUseNumber: UInt64 = 0
    private var era: UInt32 = 2
    private var eraBytes = 0
    private var opened: [UInt32] = []

    static let mostOpenFiles = 64
    private static let mostUnseenRemovals = 1_000

    init(limits: DiskLimits) { self.limits = limits }

    /// Returns an increasing number, in microseconds since 1970 unless the clock was set back.
    mutating func nextStamp(at now: Double) -> UInt64 {
        lastStamp = max(lastStamp + 1, UInt64(now * 1e6))
        return lastStamp
    }

    func isPaused(at now: Double) -> Bool { pause?.contains(now) ?? false }
}

// MARK: Reading

extension DiskIndex {
    enum Finding {
        case nothing
        case tooOld(RetiredRecord?)
        /// - Parameter notesUse: Whether to update the time of use in the file.
        case record(RecordPlace, fileName: String, file: DiskFile?, notesUse: Bool)
    }

    mutating func find(_ digest: UInt64, at now: UInt32) -> Finding {
        guard var place = places[digest], segments[place.segment] != nil else {
            counts.misses += 1
            return .nothing
        }
        if isTooOld(place.usedAt, at: now) {
            counts.misses += 1
            return .tooOld(remove(digest))
        }
        counts.hits += 1
        let notesUse = limits.ageSeconds.map { Int64(now) - Int64(place.usedAt) > $0 / 16 } ?? false
        if notesUse { place.usedAt = now }
        use(&place, at: now)
        places[digest] = place
        guard let segment = segments[place.segment] else { return .nothing }
        return .record(place, fileName: segment.name, file: segment.file, notesUse: notesUse)
    }

    /// Returns another file for the caller to release without the lock.
    mutating func keepOpen(_ file: DiskFile, for segment: UInt32) -> DiskFile? {
        guard segments[segment] != nil, segments[segment]?.file == nil else { return nil }
        segments[segment]?.file = file
        opened.append(segment)
        return surplusFile()
    }

    /// Returns a file for the caller to release without the lock, if too many are open.
    mutating func surplusFile() -> DiskFile? {
        guard opened.count > Self.mostOpenFiles, let first = opened.firstIndex(where: { $0 != active }) else {
            return nil
        }
        let closing = opened.remove(at: first)
        defer { segments[closing]?.file = nil }
        return segments[closing]?.file
    }

    func isTooOld(_ usedAt: UInt32, at now: UInt32) -> Bool {
        limits.ageSeconds.map { Int64(now) - Int64(usedAt) > $0 } ?? false
    }
}

// MARK: Writing

struct Reservation {
    let segment: UInt32
    let offset: UInt32
    let stamp: UInt64
    let file: DiskFile
}

extension DiskIndex {
    /// Returns room in the active segment, or nil if there is not enough.
    mutating func reserve(_ length: Int, at now: Double) -> Reservation? {
        guard let active, let segment = segments[active], let file = segment.file,
            segment.end + length <= segment.sizeBytes
        else { return nil }
        return reserve(length, in: active, file, at: now)
    }

    /// Adds a new file for one record of this length. Without `length`, the file is for all small records.
    mutating func add(
        _ file: DiskFile, name: String, sizeBytes: Int, forOne length: Int? = nil, at now: Double
    ) -> Reservation? {
        let id = nextSegment()
        segments[id] = DiskSegment(name: name, sizeBytes: sizeBytes, end: 0, file: file)
        if length == nil { active = id }
        opened.append(id)
        return length.map { reserve($0, in: id, file, at: now) }
    }

    /// Returns the file and the size to truncate it to. If the file is empty, also returns its removal.
    mutating func seal() -> (file: DiskFile, sizeBytes: Int, emptied: RetiredRecord?)? {
        guard let id = active, let segment = segments[id], let file = segment.file else { return nil }
        active = nil
        segments[id]?.sizeBytes = segment.end
        return (file, segment.end, dropIfEmpty(id))
    }

    /// Returns whether the key now has the written record, and the record that is no longer valid.
    ///
    /// - Parameter replaced: If given, the new record becomes valid only if the key still has this one.
    mutating func publish(
        _ written: RecordPlace, for digest: UInt64, replacing replaced: RecordPlace? = nil, at now: UInt32
    ) -> (isStored: Bool, retired: RetiredRecord?) {
        // Everything may have been removed after the reservation.
        guard segments[written.segment] != nil else { return (false, nil) }
        segments[written.segment]?.pendingRecords -= 1
        return insert(written, for: digest, replacing: replaced, isUsedAt: now)
    }

    mutating func abandon(_ reservation: Reservation) -> RetiredRecord? {
        segments[reservation.segment]?.pendingRecords -= 1
        return reservation.segment == active ? nil : dropIfEmpty(reservation.segment)
    }

    mutating func remove(_ digest: UInt64) -> RetiredRecord? {
        if !isOpen { noteUnseenRemoval(digest) }
        return places.removeValue(forKey: digest).flatMap { retire($0) }
    }

    private mutating func noteUnseenRemoval(_ digest: UInt64) {
        if unseenRemovals.count >= Self.mostUnseenRemovals { isToBeEmptied = true }
        if isToBeEmptied { unseenRemovals = [] } else { unseenRemovals.insert(digest) }
    }

    mutating func remove(_ digest: UInt64, ifAt place: RecordPlace) -> RetiredRecord? {
        places[digest].map { $0.isSame(as: place) } == true ? remove(digest) : nil
    }

    private mutating func reserve(_ length: Int, in id: UInt32, _ file: DiskFile, at now: Double) -> Reservation {
        let offset = segments[id]?.end ?? 0
        segments[id]?.end = offset + length
        segments[id]?.pendingRecords += 1
        return Reservation(segment: id, offset: UInt32(offset), stamp: nextStamp(at: now), file: file)
    }

    private mutating func insert(
        _ new: RecordPlace, for digest: UInt64, replacing replaced: RecordPlace? = nil, isUsedAt now: UInt32?
    ) -> (isStored: Bool, retired: RetiredRecord?) {
        var new = new
        segments[new.segment]?.liveRecords += 1
        segments[new.segment]?.digests.append(digest)
        let old = places[digest]
        if let old, old.stamp >= new.stamp { return (false, retire(new)) }
        if let replaced, old.map({ $0.isSame(as: replaced) }) != true { return (false, retire(new)) }
        if let now { use(&new, at: now) }
        places[digest] = new
        return (true, old.flatMap { retire($0) })
    }

    /// - Parameter place: Still counted as live in its segment, but no longer in `places`.
    private mutating func retire(_ place: RecordPlace) -> RetiredRecord? {
        guard var segment = segments[place.segment] else { return nil }
        segment.liveRecords -= 1
        if place.era == era { segment.usedThisEra -= place.length }
        if place.era + 1 == era { segment.usedLastEra -= place.length }
        segments[place.segment] = segment
        if place.segment != active, let emptied = dropIfEmpty(place.segment) { return emptied }
        return RetiredRecord(deed: .unmark(offset: place.offset), fileName: segment.name, file: segment.file)
    }

    private mutating func dropIfEmpty(_ id: UInt32) -> RetiredRecord? {
        segments[id]?.isEmpty == true ? drop(id) : nil
    }

    private mutating func nextSegment() -> UInt32 {
        lastSegment += 1
        return lastSegment
    }
}

// MARK: Recency

extension DiskIndex {
    private mutating func use(_ place: inout RecordPlace, at now: UInt32) {
        guard var segment = segments[place.segment] else { return }
        lastUseNumber += 1
        segment.useNumber = lastUseNumber
        segment.noteUse(at: now)
        if place.era != era {
            if place.era + 1 == era { segment.usedLastEra -= place.length }
            segment.usedThisEra += place.length
            place.era = era
            eraBytes += place.length
        }
        segments[place.segment] = segment
        if eraBytes >= limits.usableBytes / 4 { beginEra() }
    }

    private mutating func beginEra() {
        era += 1
        eraBytes = 0
        for id in segments.keys { segments[id]?.beginEra() }
    }

    /// Returns a segment's recently used records. Empty if they are most of the segment, because moving them would not
    /// free space.
    func worthMoving(from id: UInt32) -> [(digest: UInt64, place: RecordPlace)] {
        guard let segment = segments[id], segment.usedShare <= 0.5 else { return [] }
        return Set(segment.digests).compactMap { digest in
            guard let place = places[digest], place.segment == id, place.era + 1 >= era else { return nil }
            return (digest, place)
        }
    }

    /// Moves a record to its copy, with its time of use. Returns the record that is no longer valid: the original, or
    /// the copy if the key was changed during the move.
    mutating func move(
        _ digest: UInt64, from old: RecordPlace, to reservation: Reservation
    ) -> RetiredRecord? {
        guard segments[reservation.segment] != nil else { return nil }
        segments[reservation.segment]?.pendingRecords -= 1
        segments[reservation.segment]?.liveRecords += 1
        segments[reservation.segment]?.digests.append(digest)
        var new = old
        new.segment = reservation.segment
        new.offset = reservation.offset
        guard let current = places[digest], current.isSame(as: old) else {
            new.era = 0
            return retire(new)
        }
        new.era = current.era
        new.usedAt = current.usedAt
        if new.era == era { segments[new.segment]?.usedThisEra += new.length }
        if new.era + 1 == era { segments[new.segment]?.usedLastEra += new.length }
        segments[new.segment]?.noteUse(at: current.usedAt)
        places[digest] = new
        return retire(current)
    }
}

// MARK: Files

extension DiskIndex {
    /// Adds the records of a scanned file. Returns the records of this and earlier files that are no longer valid.
    ///
    /// - Parameter mayGrow: Whether another cache may still be writing to the file.
    mutating func learn(
        _ scan: SegmentScan, in item: DiskFolder.Item, as id: UInt32, mayGrow: Bool, at now: UInt32
    ) -> [RetiredRecord] {
        segments[id] = DiskSegment(name: item.name, sizeBytes: item.sizeBytes, end: scan.end, mayGrow: mayGrow)
        var retired: [RetiredRecord] = []
        for record in scan.records {
            lastStamp = max(lastStamp, record.place.stamp)
            guard record.isLive else { continue }
            var place = record.place
            place.usedAt = min(place.usedAt, now)  // The checksum does not cover `usedAt`, and clocks are set back.
            segments[id]?.noteUse(at: place.usedAt)
            if let loser = insert(place, for: record.digest, isUsedAt: nil).retired { retired.append(loser) }
        }
        if let emptied = dropIfEmpty(id) { retired.append(emptied) }
        return retired
    }

    /// Takes over the result of a scan, unless the cache was emptied during the scan. Returns scanned records that must
    /// be removed.
    mutating func open(_ found: DiskIndex) -> [RetiredRecord] {
        guard isToBeEmptied == found.isToBeEmptied else { return [] }
        let (removals, counts, pause) = (unseenRemovals, counts, pause)
        self = found
        (self.counts, self.pause) = (counts, pause)
        (isOpen, isToBeEmptied, unseenRemovals) = (true, false, [])
        return removals.compactMap { remove($0) }
    }

    /// Forgets the folder. All its records must be removed.
    mutating func close() { (isOpen, isToBeEmptied, unseenRemovals) = (false, true, []) }

    /// Forgets everything, so that a scan is unnecessary. Returns the files, to be released without the lock, and their
    /// names.
    mutating func removeAll() -> (files: [DiskFile], names: [String]) {
        let (files, names) = (segments.values.compactMap(\.file), segments.values.map(\.name))
        isOpen = true
        places = [:]
        segments = [:]
        opened = []
        active = nil
        allowanceBytes = 0
        return (files, names)
    }

    mutating func idForFoundFile() -> UInt32 { nextSegment() }

    /// Forgets a segment. Returns the removal of its file.
    mutating func drop(_ id: UInt32) -> RetiredRecord? {
        guard let segment = segments.removeValue(forKey: id) else { return nil }
        for digest in segment.digests where places[digest]?.segment == id { places[digest] = nil }
        if active == id { active = nil }
        if segment.file != nil { opened.removeAll { $0 == id } }
        return RetiredRecord(deed: .removeFile, fileName: segment.name, file: segment.file)
    }
}
