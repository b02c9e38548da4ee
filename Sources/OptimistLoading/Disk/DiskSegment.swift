// This source file is part of the Optimist open source project, under the MIT licence.

/// A file of records, as the index sees it. A large entry has its own segment.
struct DiskSegment {
    let name: String
    /// How much the file counts against the limit.
    var sizeBytes: Int
    /// The end of the last record, where the next one is written.
    var end: Int
    /// Whether another cache may be writing to it.
    var mayGrow = false
    /// Nil while closed, because the number of open files is limited.
    var file: DiskFile?
    /// The keys of all records that were ever written here, valid or not.
    var digests: [UInt64] = []
    var liveRecords = 0
    var pendingRecords = 0
    /// The bytes of valid records used in the current era and in the previous one.
    var usedThisEra = 0
    var usedLastEra = 0
    var usedAt: UInt32 = 0
    /// Orders segments used within the same second.
    var useNumber: UInt64 = 0

    var isEmpty: Bool { liveRecords == 0 && pendingRecords == 0 && !mayGrow }

    var usedShare: Double { Double(usedThisEra + usedLastEra) / Double(max(sizeBytes, 1)) }

    mutating func noteUse(at seconds: UInt32) { usedAt = max(usedAt, seconds) }

    mutating func beginEra() {
        usedLastEra = usedThisEra
        usedThisEra = 0
    }
}
