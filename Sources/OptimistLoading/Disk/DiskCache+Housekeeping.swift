// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

extension DiskCache {
    /// If a file was not written for this long, its writer is assumed to have finished.
    private static let restSeconds: UInt32 = 3600

    /// Scans the folder once. If that fails, for example because too many files are open, the next use tries again.
    func open() {
        housekeeping.withLock { _ in
            guard index.withLock({ !$0.isOpen }) else { return }
            do throws(DiskError) {
                let items = try folder.items().get()
                var (found, retired) = (index.withLock { $0 }, [RetiredRecord]())
                if found.isToBeEmptied {
                    remove(items)
                } else {
                    for item in items where item.isSegment { retired += try learn(item, into: &found) }
                }
                let opened = found
                retired += index.withLock { $0.open(opened) }
                for record in retired { settle(record) }
            } catch {
                let time = time
                if !index.withLock({ $0.isPaused(at: time) }) { note(error.code) }
            }
        }
    }

    private func learn(
        _ item: DiskFolder.Item, into found: inout DiskIndex
    ) throws(DiskError) -> [RetiredRecord] {
        let file: DiskFile
        switch folder.open(item.name) {
        case .success(let opened): file = opened
        case .failure(let error) where error.isForWantOfFiles: throw error
        case .failure: return []
        }
        let id = found.idForFoundFile()
        let scan = SegmentScan(file, segment: id)
        let mayGrow = item.modifiedAt + Self.restSeconds > UInt32(clamping: Int(Date().timeIntervalSince1970))
        var item = item
        // Truncate a file whose writer died before truncating it.
        if !mayGrow, scan.end < item.sizeBytes, file.resize(to: scan.end) == nil { item.sizeBytes = scan.end }
        return found.learn(scan, in: item, as: id, mayGrow: mayGrow, at: UInt32(time))
    }

    /// Creates a file within the limit, and reserves room in it. Nil if the file does not fit or cannot be created.
    ///
    /// Shared files are created at their full size, so that other programs cannot take the space.
    func makeFile(for length: Int, isShared: Bool) -> Reservation? {
        if isShared { trim(index.withLock { $0.seal() }) }
        let sizeBytes = isShared ? max(limits.segmentBytes, length) : length
        guard makeRoom(for: sizeBytes) else { return nil }
        let time = time
        // A file may already exist, created when records were moved.
        if isShared, let room = index.withLock({ $0.reserve(length, at: time) }) { return room }
        return addFile(sizeBytes: sizeBytes, reserving: length, isShared: isShared)
    }

    private func addFile(sizeBytes: Int, reserving length: Int, isShared: Bool) -> Reservation? {
        let time = time
        while true {
            let name = DiskFolder.name(for: index.withLock { $0.nextStamp(at: time) })
            let made = fault?().map { .failure(DiskError(code: $0)) } ?? folder.create(name, sizeBytes: sizeBytes)
            switch made {
            case .success(let file):
                let (room, closing) = index.withLock { index in
                    let room = index.add(
                        file, name: name, sizeBytes: sizeBytes, forOne: isShared ? nil : length, at: time)
                    return (room ?? index.reserve(length, at: time), index.surplusFile())
                }
                _ = closing  // Closed here, where no caller waits.
                return room
            case .failure(let error) where error.code == EEXIST: continue  // Another cache created it.
            case .failure(let error):
                note(error.code)
                return nil
            }
        }
    }

    /// Removes expired files, then further files until a file of the given size fits.
    ///
    /// Listing thousands of files takes milliseconds, so one listing is used for several new files.
    private func makeRoom(for sizeBytes: Int) -> Bool {
        let isAllowed = index.withLock { index in
            index.allowanceBytes -= sizeBytes
            return index.allowanceBytes >= 0
        }
        if isAllowed { return true }
        let items: [DiskFolder.Item]
        switch folder.items() {
        case .success(let found): items = found
        case .failure(let error):
            note(error.code)
            return false
        }
        var total = items.reduce(0) { $0 + $1.sizeBytes }
        let now = UInt32(time)
        let eviction = index.withLock { DiskEviction(segments: $0.segments, active: $0.active) }
        let vanished = eviction.vanished(from: items)
        let gone = index.withLock { index in vanished.compactMap { index.drop($0) } }
        _ = gone  // Closed here, where no caller waits.
        for victim in eviction.victims(among: items) {
            let isTooOld = index.withLock { $0.isTooOld(victim.usedAt, at: now) }
            guard isTooOld || total + sizeBytes > limits.usableBytes else { continue }
            if let segment = victim.segment, !isTooOld {
                total += moveRecent(from: segment, ofFree: limits.sizeBytes - total)
            }
            settle(index.withLock { index in victim.segment.flatMap { index.drop($0) } })
            if let code = folder.remove(victim.item.name) {
                note(code)
                return false
            }
            total -= victim.item.sizeBytes
        }
        let hasRoom = total + sizeBytes <= limits.usableBytes
        index.withLock { $0.allowanceBytes = hasRoom ? limits.uncountedBytes : 0 }
        return hasRoom
    }

    /// Copies recently used records from a segment that will be removed. Returns by how much the files grew.
    private func moveRecent(from segment: UInt32, ofFree freeBytes: Int) -> Int {
        var grown = 0
        let (time, records) = (time, index.withLock { $0.worthMoving(from: segment) })
        guard !records.isEmpty, let file = index.withLock({ $0.segments[segment]?.file }) ?? open(segment) else {
            return 0
        }
        for (digest, place) in records where place.length <= limits.segmentBytes {
            let bytes = [UInt8](unsafeUninitializedCapacity: place.length) { buffer, count in
                count = file.read(UnsafeMutableRawBufferPointer(buffer), at: Int(place.offset))
            }
            guard bytes.count == place.length else { continue }
            var room = index.withLock { $0.reserve(place.length, at: time) }
            if room == nil, grown + limits.segmentBytes <= freeBytes {
                trim(index.withLock { $0.seal() })
                room = addFile(sizeBytes: limits.segmentBytes, reserving: place.length, isShared: true)
                grown += limits.segmentBytes
            }
            guard let room else { continue }
            if let code = fault?() ?? room.file.write(bytes, at: Int(room.offset)) {
                note(code)
                settle(index.withLock { $0.abandon(room) })
                return grown
            }
            settle(index.withLock { $0.move(digest, from: place, to: room) })
        }
        return grown
    }

    private func open(_ segment: UInt32) -> DiskFile? {
        index.withLock { $0.segments[segment]?.name }.flatMap { try? folder.open($0).get() }
    }
}
