// This source file is part of the Optimist open source project, under the MIT licence.

/// The position of a record, with the metadata that the index needs.
struct RecordPlace: Equatable {
    var segment: UInt32
    var offset: UInt32
    var headLength: UInt32
    var bodyLength: UInt32
    var stamp: UInt64
    /// Seconds since 1970, as written in the file.
    var usedAt: UInt32
    /// The era of the index in which the record was last used. See `DiskIndex`.
    var era: UInt32 = 0

    var length: Int { Int(headLength) + Int(bodyLength) }

    func isSame(as other: RecordPlace) -> Bool { segment == other.segment && offset == other.offset }
}

/// The file operation for a record that is no longer valid.
struct RetiredRecord: Sendable {
    enum Deed: Equatable {
        /// Clear its mark, so that a later opening of the folder does not find it.
        case unmark(offset: UInt32)
        /// Remove the file: this was its last record.
        case removeFile
    }

    let deed: Deed
    let fileName: String
    let file: DiskFile?
}
