// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file with the records of the present launch and of those before it that are not counted yet.
///
/// Each record has 512 bytes of its own, so that one call writes it: a process that is killed leaves the old record or the
/// new one. The file is not forced to the disk. A crash of the process loses nothing of it. After a power loss, records that
/// were not counted yet may be missing.
final class LaunchLog: Sendable {
    private let file: CInt

    private static let slotBytes = 512

    /// Opens the file, or makes it, and keeps other processes out until this object is released.
    ///
    /// - Throws: `OptimistError` with code `healthInUse` if another process has it, `healthUnavailable` if it cannot be
    ///   made or opened.
    init(_ path: String) throws {
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw OptimistError.healthUnavailable(path) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw OptimistError(
                .healthInUse,
                "Another process of the app keeps its health in \(path). Give each process a directory of its own.")
        }
    }

    deinit { close(file) }

    /// Returns the records in their order. Slots without a record are skipped.
    func read() -> [LaunchRecord] {
        let count = slotCount
        var bytes = [UInt8](repeating: 0, count: count * Self.slotBytes)
        let read = pread(file, &bytes, bytes.count, 0)
        guard read > 0 else { return [] }
        let decoder = JSONDecoder()
        return stride(from: 0, to: read, by: Self.slotBytes).compactMap { start in
            let slot = bytes[start..<min(start + Self.slotBytes, read)].prefix { $0 != 0 }
            return try? decoder.decode(LaunchRecord.self, from: Data(slot))
        }
    }

    /// How many records the file has room for as it is.
    var slotCount: Int { Int(max(0, lseek(file, 0, SEEK_END))) / Self.slotBytes }

    /// Writes a record at a place. If the disk is full the record is not written, and nothing else changes.
    func write(_ record: LaunchRecord, at slot: Int) {
        guard var bytes = try? Array(JSONEncoder().encode(record)), bytes.count <= Self.slotBytes else { return }
        bytes += [UInt8](repeating: 0, count: Self.slotBytes - bytes.count)
        _ = pwrite(file, bytes, bytes.count, off_t(slot * Self.slotBytes))
    }

    /// Forgets all records but one, which moves to the first place.
    func keep(only record: LaunchRecord) {
        write(record, at: 0)
        _ = ftruncate(file, off_t(Self.slotBytes))
    }
}

extension OptimistError.Code {
    /// Another process has the directory in which an app's health is kept.
    public static let healthInUse = Self("healthInUse")
    /// The directory in which an app's health is kept cannot be made, read or written.
    public static let healthUnavailable = Self("healthUnavailable")
}

extension OptimistError {
    static func healthUnavailable(_ path: String) -> OptimistError {
        let reason = String(cString: strerror(errno))
        return OptimistError(
            .healthUnavailable, "The app's health cannot be kept at \(path): \(reason). Choose another directory.")
    }
}
