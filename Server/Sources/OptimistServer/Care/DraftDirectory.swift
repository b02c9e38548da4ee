// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore

/// Fills a directory under a hidden name and renames it when it is complete.
///
/// Hidden names are unique, so two programs with the same target do not collide. A killed program leaves its draft but
/// not the draft's lock, so the next program in the same place removes the draft.
package enum DraftDirectory {
    /// Makes a directory. Blocks the thread.
    ///
    /// - Parameters:
    ///   - target: The directory. It must not exist, or must be empty.
    ///   - begun: Receives the hidden directory as soon as it exists. Default: does nothing.
    ///   - fill: Writes the files.
    /// - Returns: The result of `fill`.
    /// - Throws: `OptimistError` with code `unreadableData` if the target is a file or contains files, `diskTrouble` if
    ///   the disk is full or fails, or the error of `fill`. The draft is then removed and the target unchanged.
    package static func make<Value>(
        _ target: URL, begun: (URL) -> Void = { _ in }, _ fill: (URL) throws -> Value
    ) throws -> Value {
        try refuse(target)
        let parent = target.deletingLastPathComponent()
        return try OptimistError.explainingDisk(of: parent) {
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            removeAbandoned(in: parent)
            let (draft, lock) = try begin(target, in: parent)
            defer { close(lock) }
            do {
                begun(draft)
                let value = try fill(draft)
                try DurableFile.sync(draft)
                try name(draft, target)
                try DurableFile.sync(parent)
                return value
            } catch {
                try? FileManager.default.removeItem(at: draft)
                throw error
            }
        }
    }

    private static func refuse(_ target: URL) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: target.path, isDirectory: &isDirectory) else { return }
        guard isDirectory.boolValue else { throw isFile(target) }
        if try !FileManager.default.contentsOfDirectory(atPath: target.path).isEmpty { throw isTaken(target) }
    }

    private static func isFile(_ target: URL) -> OptimistError {
        OptimistError(.unreadableData, "\(target.path) is a file. Choose a directory that does not exist yet.")
    }

    private static func isTaken(_ target: URL) -> OptimistError {
        OptimistError(
            .unreadableData,
            "\(target.path) already contains files, which are never replaced. Choose another directory.")
    }

    private static func begin(_ target: URL, in parent: URL) throws -> (draft: URL, lock: Int32) {
        while true {
            let mark = UUID().uuidString.prefix(8).lowercased()
            // The target's name may already have the maximum length.
            let name = String(target.lastPathComponent.unicodeScalars.prefix(50))
            let draft = parent.appending(path: ".\(name).\(mark)\(ending)", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(
                at: draft, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            // Until the draft is locked, another program may consider it abandoned and remove it.
            if let lock = lock(draft, LOCK_EX) {
                if FileManager.default.fileExists(atPath: draft.path) { return (draft, lock) }
                close(lock)
            }
        }
    }

    private static let ending = ".partial"

    private static func removeAbandoned(in parent: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.wholeMatch(of: /\..+\.[0-9a-f]{8}\.partial/) != nil {
            let draft = parent.appending(path: name, directoryHint: .isDirectory)
            guard let lock = lock(draft, LOCK_EX | LOCK_NB) else { continue }
            try? FileManager.default.removeItem(at: draft)
            close(lock)
        }
    }

    /// Returns nil if the directory does not exist or another program holds the lock.
    private static func lock(_ directory: URL, _ operation: Int32) -> Int32? {
        let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        if flock(descriptor, operation) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// The system replaces an empty directory, but no other.
    private static func name(_ draft: URL, _ target: URL) throws {
        if rename(draft.path, target.path) == 0 { return }
        switch errno {
        case ENOTEMPTY, EEXIST: throw isTaken(target)
        case ENOTDIR: throw isFile(target)
        case let code: throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
    }
}
