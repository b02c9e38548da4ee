// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The head of a record, which precedes the entry's bytes in a file.
///
/// The head consists of these fields, little-endian, then the key, the ETag and Last-Modified in UTF-8. The entry's
/// bytes follow.
///
/// ```
///      0  mark             4 bytes   valid while it is `liveMark`. May be changed in place.
///      4  usedAt           4 bytes   seconds since 1970. May be changed in place.
///      8  head checksum    8 bytes   of all following bytes of the head
///     16  format           4 bytes
///     20  length of the key, of the ETag, of Last-Modified, of the body      4 bytes each, `absent` if nil
///     36  zero             4 bytes
///     40  storedAt         8 bytes   a Double, seconds since 1970
///     48  expiresAt        8 bytes   the same, or not a number
///     56  stamp            8 bytes
///     64  body checksum    8 bytes
/// ```
///
/// The checksum excludes fields that change in place, so that a concurrent reader does not mistake a change for damage.
struct RecordHead: Equatable {
    /// Of two valid records with the same key, the one with the greater stamp is newer.
    var stamp: UInt64
    var usedAt: UInt32
    var isLive: Bool
    var keyLength: Int
    var etagLength: Int?
    var lastModifiedLength: Int?
    var bodyLength: Int
    var bodyChecksum: UInt64
    var storedAt: Date
    var expiresAt: Date?

    static let fixedLength = 72
    /// The longest head that is accepted, so that garbage cannot cause a huge read.
    static let longest = 1 << 18
    static let liveMark: UInt32 = 0x4556_494C
    static let markOffset = 0
    static let usedAtOffset = 4
    /// An exclusive bound, so that a greater stamp always exists.
    static let endOfStamps: UInt64 = 1 << 62

    private static let format: UInt32 = 0x3143_504F
    private static let absent = UInt32.max

    var length: Int { Self.fixedLength + keyLength + (etagLength ?? 0) + (lastModifiedLength ?? 0) }
}

extension RecordHead {
    static func length(of entry: DiskEntry, for key: String) -> Int {
        fixedLength + key.utf8.count + (entry.etag?.utf8.count ?? 0) + (entry.lastModified?.utf8.count ?? 0)
    }

    static func encode(
        _ entry: DiskEntry, for key: String, stamp: UInt64, usedAt: UInt32, bodyChecksum: UInt64
    ) -> [UInt8] {
        let texts = [key, entry.etag, entry.lastModified]
        let length = length(of: entry, for: key)
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            let head = UnsafeMutableRawBufferPointer(buffer)
            head.put(liveMark, at: markOffset)
            head.put(usedAt, at: usedAtOffset)
            head.put(format, at: 16)
            var end = fixedLength
            for (index, text) in texts.enumerated() {
                head.put(text.map { UInt32($0.utf8.count) } ?? absent, at: 20 + 4 * index)
                guard let text else { continue }
                head[end...].copyBytes(from: text.utf8)
                end += text.utf8.count
            }
            head.put(UInt32(entry.bytes.count), at: 32)
            head.put(0 as UInt32, at: 36)
            head.put(entry.storedAt.timeIntervalSince1970.bitPattern, at: 40)
            // NaN means no date. A date that is NaN itself is stored as expired.
            let expiresAt = entry.expiresAt.map { Double.maximum($0.timeIntervalSince1970, -.infinity) } ?? .nan
            head.put(expiresAt.bitPattern, at: 48)
            head.put(stamp, at: 56)
            head.put(bodyChecksum, at: 64)
            head.put(checksum(UnsafeRawBufferPointer(head)), at: 8)
            count = length
        }
    }

    /// Returns the length that the head states, or nil if the bytes do not begin with a head.
    static func claimedLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= fixedLength, bytes.number(at: 16, as: UInt32.self) == format else { return nil }
        func textLength(at offset: Int) -> Int {
            let length = bytes.number(at: offset, as: UInt32.self)
            return length == absent ? 0 : Int(length)
        }
        let length = fixedLength + textLength(at: 20) + textLength(at: 24) + textLength(at: 28)
        return length <= longest ? length : nil
    }

    /// Nil if the bytes are not a valid head.
    ///
    /// - Parameter bytes: May be longer than the head.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let length = Self.claimedLength(bytes), bytes.count >= length,
            bytes.number(at: 8, as: UInt64.self) == Self.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<length])),
            bytes.number(at: 20, as: UInt32.self) != Self.absent,
            bytes.number(at: 56, as: UInt64.self) < Self.endOfStamps
        else { return nil }
        func textLength(at offset: Int) -> Int? {
            let length = bytes.number(at: offset, as: UInt32.self)
            return length == Self.absent ? nil : Int(length)
        }
        func time(at offset: Int) -> Date? {
            let seconds = Double(bitPattern: bytes.number(at: offset, as: UInt64.self))
            return seconds.isNaN ? nil : Date(timeIntervalSince1970: seconds)
        }
        isLive = bytes.number(at: Self.markOffset, as: UInt32.self) == Self.liveMark
        usedAt = bytes.number(at: Self.usedAtOffset, as: UInt32.self)
        keyLength = Int(bytes.number(at: 20, as: UInt32.self))
        etagLength = textLength(at: 24)
        lastModifiedLength = textLength(at: 28)
        bodyLength = Int(bytes.number(at: 32, as: UInt32.self))
        storedAt = time(at: 40) ?? .distantPast
        expiresAt = time(at: 48)
        stamp = bytes.number(at: 56, as: UInt64.self)
        bodyChecksum = bytes.number(at: 64, as: UInt64.self)
    }

    func key(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Self.fixedLength..<Self.fixedLength + keyLength])
    }

    func etag(in bytes: UnsafeRawBufferPointer) -> String? {
        let start = Self.fixedLength + keyLength
        return etagLength.map { String(decoding: bytes[start..<start + $0], as: UTF8.self) }
    }

    func lastModified(in bytes: UnsafeRawBufferPointer) -> String? {
        let start = Self.fixedLength + keyLength + (etagLength ?? 0)
        return lastModifiedLength.map { String(decoding: bytes[start..<start + $0], as: UTF8.self) }
    }

    private static func checksum(_ head: UnsafeRawBufferPointer) -> UInt64 {
        XXH64.hash(UnsafeRawBufferPointer(rebasing: head[16...]))
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func put(_ number: some FixedWidthInteger & BitwiseCopyable, at offset: Int) {
        storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func number<N: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: N.Type) -> N {
        N(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
