// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
import SystemPackage

/// Reads the files of a backup. It refuses links, pipes and devices, because a backup may come from another machine.
package enum RegularFile {
    /// Copies a file in chunks, readable by its owner only.
    ///
    /// - Parameter follows: Whether the source may be a link. Default: false.
    /// - Returns: The SHA-256 of its content, in hexadecimal digits.
    /// - Throws: `OptimistError` with code `unreadableData` if the source is not a regular file, or `POSIXError`.
    static func copy(_ source: URL, to target: URL, follows: Bool = false) throws -> String {
        let written = open(target.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard written >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: written, closeOnDealloc: true)
        let digest = try forEachPiece(of: source, follows: follows) { try handle.write(contentsOf: $0) }
        try handle.synchronize()
        return digest
    }

    /// Reads a small file.
    ///
    /// - Throws: As `copy`.
    package static func content(of source: URL) throws -> Data {
        var content = Data()
        _ = try forEachPiece(of: source) { content += $0 }
        return content
    }

    /// Returns the SHA-256 of a file's content, in hexadecimal digits.
    package static func digest(of source: URL) throws -> String { try forEachPiece(of: source) { _ in } }

    private static func forEachPiece(
        of source: URL, follows: Bool = false, _ body: (Data) throws -> Void
    ) throws -> String {
        // Without `O_NONBLOCK`, opening a pipe waits for its writer.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follows ? 0 : O_NOFOLLOW)
        let descriptor = open(source.path, flags)
        guard descriptor >= 0 else {
            if errno == ELOOP { throw isNone(source) }
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let found = try? Stat(FileDescriptor(rawValue: descriptor)), found.type == .regular else {
            throw isNone(source)
        }
        var hash = SHA256()
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            hash.update(piece)
            try body(piece)
        }
        return hash.finish().map { String(format: "%02x", $0) }.joined()
    }

    private static func isNone(_ source: URL) -> OptimistError {
        OptimistError(
            .unreadableData,
            """
            \(source.path) is a link, a pipe or another special file. Nothing was restored. Name a directory that \
            `optimist backup` created.
            """)
    }
}
