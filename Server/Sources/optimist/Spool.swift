// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer

/// Keeps the lines of an export until all of them are there, in a file without a name that only this process can read.
///
/// The reader of the output may take its time. The data is read to its end before, so no log and no snapshot waits for it.
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

    /// Writes all lines to standard output, as ``say(_:)`` does.
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
            The export cannot be kept in \(FileManager.default.temporaryDirectory.path): \(String(cString: strerror(errno))). \
            Name another folder with TMPDIR.
            """)
    }
}
