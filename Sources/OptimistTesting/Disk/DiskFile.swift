// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A file's visible bytes, and the unsynced changes that a power loss may undo.
struct DiskFile {
    private enum Change {
        case write(offset: Int, new: [UInt8], old: [UInt8], oldCount: Int)
        case truncate(to: Int, tail: [UInt8])
    }

    private(set) var bytes: [UInt8] = []
    private var unsynced: [Change] = []
    /// Whether the file survives a power loss. True after its first sync.
    private(set) var isDurable = false
    var sharedMemory: SharedMemory?

    /// In debug builds, appending other sequences of zeros took a third of a simulation's time.
    private static let zeros = [UInt8](repeating: 0, count: 1 << 16)

    mutating func write(_ new: UnsafeRawBufferPointer, at offset: Int) {
        let (oldCount, end) = (bytes.count, offset + new.count)
        let old = Array(bytes[min(offset, oldCount)..<min(end, oldCount)])
        unsynced.append(.write(offset: offset, new: Array(new), old: old, oldCount: oldCount))
        put(new, at: offset)
    }

    mutating func truncate(to count: Int) {
        guard count < bytes.count else { return }
        unsynced.append(.truncate(to: count, tail: Array(bytes[count...])))
        bytes.removeLast(bytes.count - count)
    }

    mutating func sync() {
        unsynced = []
        isDurable = true
    }

    private mutating func put(_ new: UnsafeRawBufferPointer, at offset: Int) {
        let end = offset + new.count
        while bytes.count < end { bytes += Self.zeros.prefix(end - bytes.count) }
        bytes.withUnsafeMutableBytes { target in
            UnsafeMutableRawBufferPointer(rebasing: target[offset..<end]).copyMemory(from: new)
        }
    }

    /// Keeps, loses or partly keeps each unsynced change.
    ///
    /// - Returns: Whether the file still exists.
    mutating func losePower(_ random: inout SplitMix64) -> Bool {
        let changes = unsynced
        undoAll()
        sharedMemory = nil
        // Keeping everything, losing everything, and a mixture are similarly likely.
        let mood = random.next() % 4
        for change in changes {
            let fate = mood == 0 ? 0 : mood == 1 ? 1 : random.next() % 3
            redo(change, fate == 0 ? 1 : fate == 1 ? 0 : Double(random.next() >> 11) * 0x1p-53)
        }
        let exists = isDurable || random.next() % 2 == 0
        if exists { sync() }
        return exists
    }

    private mutating func undoAll() {
        while let change = unsynced.popLast() {
            switch change {
            case .write(let offset, _, let old, let oldCount):
                old.withUnsafeBytes { put($0, at: min(offset, oldCount)) }
                bytes.removeLast(bytes.count - oldCount)
            case .truncate(_, let tail): bytes += tail
            }
        }
    }

    /// Applies a change again, or the first part of a write.
    private mutating func redo(_ change: Change, _ part: Double) {
        switch change {
        case .write(let offset, let new, _, _):
            let count = Int(Double(new.count) * part)
            new[..<count].withUnsafeBytes { if count > 0 { put($0, at: offset) } }
        case .truncate(let count, _):
            if part > 0, count < bytes.count { bytes.removeLast(bytes.count - count) }
        }
    }
}

/// The shared memory and locks of a write-ahead log.
final class SharedMemory {
    private(set) var regions: [UnsafeMutableRawBufferPointer] = []
    /// For each of SQLite's eight locks: the number of shared holders, or -1 if the lock is held exclusively.
    var locks = Array(repeating: 0, count: 8)

    /// Returns a region. Nil if it does not exist and `extending` is false.
    func region(_ index: Int, size: Int, extending: Bool) -> UnsafeMutableRawPointer? {
        while regions.count <= index {
            guard extending else { return nil }
            let region = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
            region.initializeMemory(as: UInt8.self, repeating: 0)
            regions.append(region)
        }
        return regions[index].baseAddress
    }

    /// Dead processes may access the memory until they release it.
    deinit { for region in regions { region.deallocate() } }
}
