// This source file is part of the Optimist open source project, under the MIT licence.

/// What is found in a segment without reading the entries' bytes: the heads, one after the other.
///
/// It ends where no sound head begins: at what was never written, at what a crash tore, or at garbage. What comes
/// after that is lost. Each step goes forward, so it ends.
struct SegmentScan {
    struct Record {
        let digest: UInt64
        let place: RecordPlace
        let isLive: Bool
    }

    private(set) var records: [Record] = []
    /// Where the last sound record ends.
    private(set) var end = 0

    init(_ file: DiskFile, segment: UInt32) {
        let size = min(file.sizeBytes, Int(UInt32.max))
        var window = [UInt8](repeating: 0, count: Self.windowBytes)
        var windowStart = 0
        var windowLength = 0
        while end + RecordHead.fixedLength <= size {
            var needed = RecordHead.fixedLength
            var head: RecordHead?
            var digest: UInt64 = 0
            // At most twice: for the part of fixed length, which says how long the texts are, and for all of it.
            while true {
                if end < windowStart || end + needed > windowStart + windowLength {
                    if needed > window.count { window = [UInt8](repeating: 0, count: needed) }
                    windowStart = end
                    windowLength = window.withUnsafeMutableBytes { file.read($0, at: end) }
                    if windowLength < needed { return }
                }
                let claimed = window.withUnsafeBytes { window -> Int? in
                    let bytes = UnsafeRawBufferPointer(rebasing: window[(end - windowStart)..<windowLength])
                    guard let claimed = RecordHead.claimedLength(bytes), claimed <= bytes.count else {
                        return RecordHead.claimedLength(bytes)
                    }
                    head = RecordHead(bytes)
                    if let head { digest = XXH64.hash(head.key(in: bytes)) }
                    return claimed
                }
                guard let claimed, head == nil, claimed > needed else { break }
                needed = claimed
            }
            guard let head, end + head.length + head.bodyLength <= size else { return }
            let place = RecordPlace(
                segment: segment, offset: UInt32(end), headLength: UInt32(head.length),
                bodyLength: UInt32(head.bodyLength), stamp: head.stamp, usedAt: head.usedAt)
            records.append(Record(digest: digest, place: place, isLive: head.isLive))
            end += place.length
        }
    }

    /// Holds the heads of many small entries, and little of a large one's bytes.
    private static let windowBytes = 4096
}
