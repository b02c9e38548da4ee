// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The ledger's file, which is replaced atomically and durably.
struct LedgerFile: Sendable {
    let path: String

    /// Returns the ledger. Nil if the file is missing or damaged: then a new ledger, with a new installation id,
    /// begins.
    ///
    /// - Throws: `OptimistError` with code `healthUnavailable` if the file cannot be read now, such as before the first
    ///   unlock of the device.
    func read() throws -> HealthLedger? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw OptimistError.healthUnavailable(path) }
        return try? JSONDecoder().decode(HealthLedger.self, from: data)
    }

    /// When this function returns, the content survives a power loss.
    ///
    /// - Throws: `OptimistError` with code `healthUnavailable`.
    func replace(with ledger: HealthLedger) throws {
        let temporary = path + ".new"
        let bytes = try Array(JSONEncoder().encode(ledger))
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw OptimistError.healthUnavailable(temporary) }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw OptimistError.healthUnavailable(temporary) }
            written += max(0, count)
        }
        guard fsync(file) == 0, rename(temporary, path) == 0 else { throw OptimistError.healthUnavailable(path) }
        synchronizeDirectory()
    }

    private func synchronizeDirectory() {
        let directory = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }
}
