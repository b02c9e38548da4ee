// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// A file's bytes in chunks. Each iteration reads the file from the beginning.
struct FileChunks: AsyncSequence, Sendable {
    let file: URL

    private static let chunkBytes = 64 << 10

    /// - Throws: `OptimistError` with code `fileUnreadable`, also if `file` is not a regular file.
    static func sizeBytes(of file: URL) throws -> Int64 {
        do {
            let kind = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
            guard kind.isRegularFile == true else { throw CocoaError(.fileReadUnknown) }
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return Int64(clamping: try handle.seekToEnd())
        } catch { throw OptimistError.unreadable(file, error) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: file) }

    struct Iterator: AsyncIteratorProtocol {
        let file: URL
        private var handle: FileHandle?

        init(file: URL) { self.file = file }

        mutating func next() async throws -> [UInt8]? {
            do {
                let open = try handle ?? FileHandle(forReadingFrom: file)
                handle = open
                return try open.read(upToCount: FileChunks.chunkBytes).flatMap { $0.isEmpty ? nil : Array($0) }
            } catch { throw OptimistError.unreadable(file, error) }
        }
    }
}
