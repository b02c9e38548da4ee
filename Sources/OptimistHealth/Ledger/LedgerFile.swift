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

/// The file of the ledger: replaced as a whole, and durable before it counts.
struct LedgerFile: Sendable {
    let path: String

    /// Returns the ledger. Nil: there is none, or its content is damaged, and a new one with another installation begins.
    ///
    /// - Throws: `OptimistError` with code `healthUnavailable` if the file cannot be read now, as before a device's first
    ///   unlock.
    func read() throws -> HealthLedger? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { throw OptimistError.healthUnavailable(path) }
        return try? JSONDecoder().decode(HealthLedger.self, from: data)
    }

    /// Replaces the file. When this returns, the content survives a power loss.
    ///
    /// - Throws: `OptimistError` with code `healthUnavailable`. The old content stays then.
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
