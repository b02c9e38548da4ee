// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension DiskCache {
    enum WriteOutcome {
        case stored, failed
        /// Another call has stored a newer entry, or removed everything.
        case overtaken
    }

    /// - Parameter replaced: If given, the entry is stored only while the key still has this record.
    func write(_ entry: DiskEntry, for key: String, replacing replaced: RecordPlace?) -> WriteOutcome {
        let time = time
        let headLength = RecordHead.length(of: entry, for: key)
        guard entry.bytes.count <= min(limits.largestEntryBytes, Int(Int32.max)), headLength <= RecordHead.longest,
            withIndex({ $0.isOpen && !$0.isPaused(at: time) })
        else { return .failed }
        let isShared = entry.bytes.count <= Self.largestShared
        let checksum = entry.bytes.withUnsafeBytes { XXH64.hash($0) }
        // There is a second attempt only if the file was removed.
        for _ in 0..<2 {
            guard let room = room(for: headLength + entry.bytes.count, isShared: isShared) else { return .failed }
            guard room.file.isLinked else {
                _ = index.withLock { $0.drop(room.segment) }
                continue
            }
            let head = RecordHead.encode(
                entry, for: key, stamp: room.stamp, usedAt: UInt32(time), bodyChecksum: checksum)
            if let code = fault?() ?? room.file.write(head, entry.bytes, at: Int(room.offset)) {
                fail(room, code)
                return .failed
            }
            let place = RecordPlace(
                segment: room.segment, offset: room.offset, headLength: UInt32(headLength),
                bodyLength: UInt32(entry.bytes.count), stamp: room.stamp, usedAt: UInt32(time))
            let digest = XXH64.hash(key)
            let published = index.withLock { $0.publish(place, for: digest, replacing: replaced, at: UInt32(time)) }
            settle(published.retired)
            return published.isStored ? .stored : .overtaken
        }
        return .failed
    }

    private func room(for length: Int, isShared: Bool) -> Reservation? {
        let time = time
        if isShared, let room = index.withLock({ $0.reserve(length, at: time) }) { return room }
        return housekeeping.withLock { _ in
            // While this call waited, another call may have created a file or removed everything.
            if isShared, let room = index.withLock({ $0.reserve(length, at: time) }) { return room }
            guard index.withLock({ $0.isOpen }) else { return nil }
            switch folder.whileLocked({ makeFile(for: length, isShared: isShared) }) {
            case .success(let room): return room
            case .failure(let error):
                note(error.code)
                return nil
            }
        }
    }

    /// Handles a failed write. Nothing more is written to this file.
    private func fail(_ room: Reservation, _ code: CInt) {
        note(code)
        let (retired, sealed) = index.withLock { index in
            let retired = index.abandon(room)
            return (retired, index.active == room.segment ? index.seal() : nil)
        }
        settle(retired)
        trim(sealed)
    }
}
