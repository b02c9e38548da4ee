// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension DiskCache {
    func stored(for key: String) -> (entry: DiskEntry, place: RecordPlace)? {
        let digest = XXH64.hash(key)
        let now = UInt32(time)
        switch withIndex({ $0.find(digest, at: now) }) {
        case .nothing: return nil
        case .tooOld(let retired):
            settle(retired)
            return nil
        case .record(let place, let name, let open, let notesUse):
            guard let file = open ?? self.open(name, of: place), file.isLinked else {
                // If the file exists but cannot be opened because too many files are open, keep the entry for later.
                let isGone = open != nil || !folder.hasFile(name)
                miss { isGone ? $0.drop(place.segment) : nil }
                return nil
            }
            guard let entry = verified(file, place, key, digest) else { return nil }
            if notesUse { _ = file.overwrite(now, at: Int(place.offset) + RecordHead.usedAtOffset) }
            return (entry, place)
        }
    }

    private func open(_ name: String, of place: RecordPlace) -> DiskFile? {
        guard let file = try? folder.open(name).get() else { return nil }
        let closing = index.withLock { $0.keepOpen(file, for: place.segment) }
        _ = closing  // Closed here, where no caller waits.
        return file
    }

    private func verified(_ file: DiskFile, _ place: RecordPlace, _ key: String, _ digest: UInt64) -> DiskEntry? {
        switch file.record(at: place, for: key) {
        case .sound(let entry): return entry
        case .ofAnotherKey:
            // The two keys have the same digest. The other key keeps its entry.
            miss { _ in nil }
        case .removed: forget(digest, place, isOurs: false)  // Another cache cleared the record's mark.
        case .damaged(let isOurs):
            index.withLock { $0.counts.damagedEntries += 1 }
            forget(digest, place, isOurs: isOurs)
        }
        return nil
    }

    /// - Parameter isOurs: Whether `place` still has the expected record. If not, another record may be there.
    private func forget(_ digest: UInt64, _ place: RecordPlace, isOurs: Bool) {
        let retired = miss { $0.remove(digest, ifAt: place) }
        if let retired, isOurs || retired.deed == .removeFile { settle(retired) }
    }

    @discardableResult
    private func miss(_ work: (inout DiskIndex) -> RetiredRecord?) -> RetiredRecord? {
        index.withLock { index in
            index.counts.hits -= 1
            index.counts.misses += 1
            return work(&index)
        }
    }
}

enum StoredRecord {
    case sound(DiskEntry)
    case ofAnotherKey
    case removed
    /// - Parameter isOurs: Whether the head is intact and belongs to the expected record.
    case damaged(isOurs: Bool)
}

extension DiskFile {
    /// Reads the record in one call, so that it is verified as a unit.
    func record(at place: RecordPlace, for key: String) -> StoredRecord {
        withUnsafeTemporaryAllocation(byteCount: Int(place.headLength), alignment: 8) { headBytes in
            var isWhole = false
            let body = [UInt8](unsafeUninitializedCapacity: Int(place.bodyLength)) { buffer, count in
                isWhole = read(headBytes, UnsafeMutableRawBufferPointer(buffer), at: Int(place.offset))
                count = isWhole ? Int(place.bodyLength) : 0
            }
            let bytes = UnsafeRawBufferPointer(headBytes)
            guard isWhole, let head = RecordHead(bytes), head.stamp == place.stamp,
                head.length == Int(place.headLength), head.bodyLength == Int(place.bodyLength)
            else { return .damaged(isOurs: false) }
            guard head.isLive else { return .removed }
            guard head.key(in: bytes).elementsEqual(key.utf8) else { return .ofAnotherKey }
            guard body.withUnsafeBytes({ XXH64.hash($0) }) == head.bodyChecksum else {
                return .damaged(isOurs: true)
            }
            return .sound(
                DiskEntry(
                    bytes: body, storedAt: head.storedAt, expiresAt: head.expiresAt, etag: head.etag(in: bytes),
                    lastModified: head.lastModified(in: bytes)))
        }
    }
}
