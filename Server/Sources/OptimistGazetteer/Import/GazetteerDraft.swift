// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// A gazetteer that is being written next to its target, which it replaces when complete.
struct GazetteerDraft {
    private let file: URL
    private let draft: URL

    /// Writes a gazetteer in one transaction.
    ///
    /// On any failure, even if the process is killed, an existing file stays unchanged. The next import removes an
    /// abandoned draft.
    ///
    /// - Throws: `OptimistError` with code `gazetteerNotWritten`, or what `body` throws.
    static func write<Value>(to file: URL, _ body: (Database) throws -> Value) throws -> Value {
        try GazetteerFormat.checkReplaceable(file)
        let draft = GazetteerDraft(file: file)
        do {
            return try draft.write(body)
        } catch let error as DatabaseError {
            throw draft.refusal(error.message ?? error.resultCode.description, error)
        } catch let error as POSIXError {
            throw draft.refusal(String(cString: strerror(error.code.rawValue)), error)
        }
    }

    private init(file: URL) {
        self.file = file
        // The target's name may already have the maximum length.
        draft = file.deletingLastPathComponent().appending(
            path: ".\(String(file.lastPathComponent.unicodeScalars.prefix(60))).import")
    }

    private func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        unlink(draft.path)
        let inode = try make()
        do {
            let queue = try DatabaseQueue(path: draft.path, configuration: Self.configuration)
            let value = try queue.write { db in
                try GazetteerFormat.create(in: db)
                return try body(db)
            }
            try queue.close()
            try takePlace(inode)
            return value
        } catch {
            if isOwn(inode) { unlink(draft.path) }
            throw error
        }
    }

    /// The journal of a new file is almost empty, and is not needed after a crash.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -65536")
        }
        return configuration
    }

    /// Makes an empty draft, and returns its inode, which identifies it later.
    private func make() throws -> ino_t {
        let descriptor = try check(open(draft.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o644))
        defer { close(descriptor) }
        var status = stat()
        _ = try check(fstat(descriptor, &status))
        return status.st_ino
    }

    /// Replaces the target. SQLite's commit has made the content durable. This method makes the name durable.
    private func takePlace(_ inode: ino_t) throws {
        guard isOwn(inode) else {
            throw OptimistError(
                .gazetteerNotWritten, "Another import to \(file.path) has started, so this one was cancelled.")
        }
        _ = try check(rename(draft.path, file.path))
        let directory = try check(open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC))
        defer { close(directory) }
        _ = try check(fsync(directory))
    }

    /// Whether this import made the draft, rather than another import to the same file.
    private func isOwn(_ inode: ino_t) -> Bool {
        var status = stat()
        return lstat(draft.path, &status) == 0 && status.st_ino == inode
    }

    private func refusal(_ reason: String, _ cause: any Error) -> OptimistError {
        OptimistError(
            .gazetteerNotWritten,
            "\(file.path) cannot be written: \(reason). An existing gazetteer was not changed.",
            cause: cause)
    }

    private func check(_ result: CInt) throws -> CInt {
        guard result < 0 else { return result }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
