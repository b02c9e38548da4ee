// This source file is part of the Optimist open source project, under the MIT licence.

/// Where a record is, and what the index must know about it without reading it.
struct RecordPlace: Equatable {
    var segment: UInt32
    var offset: UInt32
    var headLength: UInt32
    var bodyLength: UInt32
    var stamp: UInt64
    /// Seconds since 1970, as it is noted in the file.
    var usedAt: UInt32
    /// The era of the index in which it was used last. See `DiskIndex`.
    var era: UInt32 = 0

    var length: Int { Int(headLength) + Int(bodyLength) }

    /// Whether both are the same bytes in the same file.
    func isSame(as other: RecordPlace) -> Bool { segment == other.segment && offset == other.offset }
}

/// A record that is no longer valid: the step to take in its file.
struct RetiredRecord: Sendable {
    enum Deed: Equatable {
        /// Clear its mark, so that no later opening of the folder finds it again.
        case unmark(offset: UInt32)
        /// It was the last of its file.
        case removeFile
    }

    let deed: Deed
    let fileName: String
    let file: DiskFile?
}
