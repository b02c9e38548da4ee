// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer

/// Buffers the lines of an export in an unlinked temporary file.
///
/// The export is read to the end before the first line is printed, so a slow reader does not hold a snapshot or a log
/// open.
final class Spool: Sendable {
    private let descriptor: Int32

    /// - Throws: `OptimistError` with code `diskTrouble` if the folder for temporary files cannot be written to.
    init() throws {
        let folder = FileManager.default.temporaryDirectory.path
        var name = Array("\(folder)/optimist-export-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.trouble() }
        unlink(name)
    }

    deinit { close(descriptor) }

    /// - Throws: As ``init()``.
    func add(_ line: String) throws {
        guard write("\(line)\n", to: descriptor) == 0 else { throw Self.trouble() }
    }

    /// Writes all lines to standard output, like ``say(_:)``.
    func say() throws {
        lseek(descriptor, 0, SEEK_SET)
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count == 0 { return }
            guard count > 0 else { throw Self.trouble() }
            print(Array(piece.prefix(count)))
        }
    }

    private func print(_ bytes: [UInt8]) { OptimistCommandLine.say(bytes) }

    private static func trouble() -> OptimistError {
        OptimistError(
            .diskTrouble,
            """
            Cannot store the export in \(FileManager.default.temporaryDirectory.path): \
            \(String(cString: strerror(errno))). Name another folder with TMPDIR.
            """)
    }
}
