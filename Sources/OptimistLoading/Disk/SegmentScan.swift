// This source file is part of the Optimist open source project, under the MIT licence.

/// The heads of a segment's records in order, read without the entries' bytes.
///
/// The scan ends at the first invalid head: at bytes that were never written, at a record torn by a crash, or at
/// garbage. Everything after that is lost.
struct SegmentScan {
    struct Record {
        let digest: UInt64
        let place: RecordPlace
        let isLive: Bool
    }

    private(set) var records: [Record] = []
    /// The end of the last valid record.
    private(set) var end = 0

    init(_ file: DiskFile, segment: UInt32) {
        let size = min(file.sizeBytes, Int(UInt32.max))
        var window = FileWindow(file)
        while let (head, digest) = window.head(at: end), end + head.length + head.bodyLength <= size {
            let place = RecordPlace(
                segment: segment, offset: UInt32(end), headLength: UInt32(head.length),
                bodyLength: UInt32(head.bodyLength), stamp: head.stamp, usedAt: head.usedAt)
            records.append(Record(digest: digest, place: place, isLive: head.isLive))
            end += place.length
        }
    }
}

/// A part of a file in memory, enough for the heads of many small entries.
private struct FileWindow {
    private let file: DiskFile
    private var bytes = [UInt8](repeating: 0, count: 4096)
    private var start = 0
    private var count = 0

    init(_ file: DiskFile) { self.file = file }

    /// Returns the head at an offset and its key's digest, or nil if the head is not valid.
    mutating func head(at offset: Int) -> (head: RecordHead, digest: UInt64)? {
        guard load(RecordHead.fixedLength, at: offset),
            let length = withBytes(at: offset, RecordHead.claimedLength), load(length, at: offset)
        else { return nil }
        return withBytes(at: offset) { bytes in
            RecordHead(bytes).map { ($0, XXH64.hash($0.key(in: bytes))) }
        }
    }

    /// Returns false if the file ends too early.
    private mutating func load(_ needed: Int, at offset: Int) -> Bool {
        if offset >= start, offset + needed <= start + count { return true }
        if needed > bytes.count { bytes = [UInt8](repeating: 0, count: needed) }
        start = offset
        count = bytes.withUnsafeMutableBytes { file.read($0, at: offset) }
        return needed <= count
    }

    private func withBytes<Result>(at offset: Int, _ work: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { work(UnsafeRawBufferPointer(rebasing: $0[(offset - start)..<count])) }
    }
}
