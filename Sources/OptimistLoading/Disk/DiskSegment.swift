// This source file is part of the Optimist open source project, under the MIT licence.

/// A file of records as the index sees it. An entry that is too large to share one has a segment of its own.
struct DiskSegment {
    let name: String
    /// What the file takes of the limit.
    var sizeBytes: Int
    /// Where the next record goes, or where the last one ends.
    var end: Int
    /// Another cache may be writing to it.
    var mayGrow = false
    /// Nil while it is closed: only so many files are open at once.
    var file: DiskFile?
    /// The keys of all records that were ever written here, valid or not.
    var digests: [UInt64] = []
    var liveRecords = 0
    /// Reserved, not yet written.
    var pendingRecords = 0
    /// The bytes of valid records that were used in this era and in the one before.
    var usedThisEra = 0
    var usedLastEra = 0
    /// Seconds since 1970.
    var usedAt: UInt32 = 0
    /// Orders what is used within one second.
    var useNumber: UInt64 = 0

    var isEmpty: Bool { liveRecords == 0 && pendingRecords == 0 && !mayGrow }

    /// How much of the file was used lately, in 0...1.
    var usedShare: Double { Double(usedThisEra + usedLastEra) / Double(max(sizeBytes, 1)) }

    mutating func noteUse(at seconds: UInt32) { usedAt = max(usedAt, seconds) }

    mutating func beginEra() {
        usedLastEra = usedThisEra
        usedThisEra = 0
    }
}
