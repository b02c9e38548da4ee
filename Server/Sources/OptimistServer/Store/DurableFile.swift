// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Writes small secret files. After a power loss a file is complete or does not exist.
package enum DurableFile {
    /// Creates a file that only its owner can read. Returns when it is durable.
    ///
    /// - Throws: `POSIXError`. The file then does not exist.
    package static func create(_ file: URL, _ content: [UInt8]) throws {
        let directory = file.deletingLastPathComponent()
        // The file's name may already have the maximum length.
        let draft = directory.appending(path: ".\(String(file.lastPathComponent.unicodeScalars.prefix(60))).new")
        unlink(draft.path)
        let descriptor = try check(open(draft.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600))
        do {
            defer { close(descriptor) }
            var written = 0
            while written < content.count {
                written += try check(
                    content[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) })
            }
            _ = try check(Int(fsync(descriptor)))
        } catch {
            unlink(draft.path)
            throw error
        }
        _ = try check(Int(rename(draft.path, file.path)))
        try sync(directory)
    }

    /// Makes a file's content, or the entries of a directory, durable.
    package static func sync(_ file: URL) throws {
        let descriptor = try check(open(file.path, O_RDONLY | O_CLOEXEC))
        defer { close(descriptor) }
        _ = try check(Int(fsync(descriptor)))
    }

    private static func check<Result: BinaryInteger>(_ result: Result) throws -> Result {
        guard result < 0 else { return result }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
