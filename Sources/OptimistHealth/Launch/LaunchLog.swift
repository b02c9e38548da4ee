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

/// The file with the records of the current launch and of earlier launches that are not counted yet.
///
/// Each record occupies 512 bytes, so that one call writes it: if the process is killed, the file has the old record or
/// the new one. The file is not synced to disk. It survives a crash of the process, but a power loss may lose records
/// that were not counted yet.
final class LaunchLog: Sendable {
    private let file: CInt

    private static let slotBytes = 512

    /// Opens or creates the file, and locks other processes out until this object is released.
    ///
    /// - Throws: `OptimistError` with code `healthInUse` if another process has locked it, `healthUnavailable` if it
    ///   cannot be created or opened.
    init(_ path: String) throws {
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw OptimistError.healthUnavailable(path) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw OptimistError(
                .healthInUse,
                "Another process of the app uses \(path) for its health records. Give each process its own directory.")
        }
    }

    deinit { close(file) }

    /// Returns the records in order. Slots without a valid record are skipped.
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

    var slotCount: Int { Int(max(0, lseek(file, 0, SEEK_END))) / Self.slotBytes }

    /// Writes a record into a slot. If the disk is full, the record is dropped.
    func write(_ record: LaunchRecord, at slot: Int) {
        guard var bytes = try? Array(JSONEncoder().encode(record)), bytes.count <= Self.slotBytes else { return }
        bytes += [UInt8](repeating: 0, count: Self.slotBytes - bytes.count)
        _ = pwrite(file, bytes, bytes.count, off_t(slot * Self.slotBytes))
    }

    /// Moves one record to the first slot and removes all others.
    func keep(only record: LaunchRecord) {
        write(record, at: 0)
        _ = ftruncate(file, off_t(Self.slotBytes))
    }
}

extension OptimistError.Code {
    /// Another process uses the directory of the app's health records.
    public static let healthInUse = Self("healthInUse")
    /// The directory of the app's health records cannot be created, read or written.
    public static let healthUnavailable = Self("healthUnavailable")
}

extension OptimistError {
    static func healthUnavailable(_ path: String) -> OptimistError {
        let reason = String(cString: strerror(errno))
        return OptimistError(
            .healthUnavailable, "Health records cannot be stored at \(path): \(reason). Choose another directory.")
    }
}
