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

/// A directory with small files, all accessible only to their owner.
///
/// All operations are relative to one open descriptor and follow no symbolic links. Processes take turns to write.
struct PrivateDirectory {
    let path: String

    private static let largestFileBytes = 1 << 20

    /// Returns a file's content, or nil if the file or directory does not exist.
    func read(_ name: String) throws -> [UInt8]? {
        guard let directory = try open(creating: false) else { return nil }
        defer { close(directory) }
        return try read(name, in: directory)
    }

    /// Replaces a file atomically. When it returns, the new content survives a power failure.
    func replace(_ name: String, with bytes: [UInt8]) throws {
        try withLock { directory in
            let temporary = try write(bytes, toTemporaryFor: name, in: directory)
            guard renameat(directory, temporary, directory, name) == 0 else { throw failure("rename", name) }
            try synchronize(directory, name)
        }
    }

    /// Returns a file's content. If the file does not exist, creates it with `bytes`.
    func read(_ name: String, orCreate bytes: [UInt8]) throws -> [UInt8] {
        if let bytes = try read(name) { return bytes }
        return try withLock { directory in
            if let bytes = try read(name, in: directory) { return bytes }
            let temporary = try write(bytes, toTemporaryFor: name, in: directory)
            guard renameat(directory, temporary, directory, name) == 0 else { throw failure("rename", name) }
            try synchronize(directory, name)
            return bytes
        }
    }

    /// Removes a file and a temporary file left by a crash. A missing file is not an error.
    func remove(_ name: String) throws {
        guard let directory = try open(creating: false) else { return }
        close(directory)
        try withLock { directory in
            for name in [name, Self.temporary(for: name)] where unlinkat(directory, name, 0) != 0 && errno != ENOENT {
                throw failure("remove", name)
            }
            try synchronize(directory, name)
        }
    }

    /// Locks a separate file. Returns nil if another process holds the lock.
    func lock(_ name: String) throws -> CredentialLease? {
        guard let directory = try open(creating: true) else { throw failure("open", "") }
        defer { close(directory) }
        let file = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("create", name) }
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            defer { close(file) }
            guard errno == EWOULDBLOCK else { throw failure("lock", name) }
            return nil
        }
        let held = HeldFile(file)
        return CredentialLease { held.letGo() }
    }

    private static func temporary(for name: String) -> String { ".\(name).new" }

    private func withLock<Result>(_ work: (_ directory: CInt) throws -> Result) throws -> Result {
        guard let directory = try open(creating: true) else { throw failure("open", "") }
        defer { close(directory) }  // Also releases the lock.
        while flock(directory, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock", "") }
        }
        return try work(directory)
    }

    private func open(creating: Bool) throws -> CInt? {
        if creating {
            let parent = URL(fileURLWithPath: path).deletingLastPathComponent()
            try? FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create", "") }
        }
        let directory = posixOpen(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if directory < 0, errno == ENOENT, !creating { return nil }
        guard directory >= 0 else { throw failure("open", "") }
        do {
            try requirePrivate(directory, kind: S_IFDIR, name: "", remedy: "chmod 700")
        } catch {
            close(directory)
            throw error
        }
        return directory
    }

    private func read(_ name: String, in directory: CInt) throws -> [UInt8]? {
        let file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure("open", name) }
        defer { close(file) }
        try requirePrivate(file, kind: S_IFREG, name: name, remedy: "chmod 600")
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = posixRead(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0, bytes.count <= Self.largestFileBytes else { throw failure("read", name) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    private func write(_ bytes: [UInt8], toTemporaryFor name: String, in directory: CInt) throws -> String {
        let temporary = Self.temporary(for: name)
        _ = unlinkat(directory, temporary, 0)  // Left over from a crash, because we hold the lock.
        let file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("create", name) }
        defer { close(file) }
        do {
            try write(bytes, to: file, name)
            try synchronize(file, name)
        } catch {
            _ = unlinkat(directory, temporary, 0)
            throw error
        }
        return temporary
    }

    private func write(_ bytes: [UInt8], to file: CInt, _ name: String) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { posixWrite(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", name) }
            rest = rest.dropFirst(count)
        }
    }

    private func synchronize(_ descriptor: CInt, _ name: String) throws {
        #if canImport(Darwin)
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw failure("synchronize", name) }
    }

    private func requirePrivate(_ descriptor: CInt, kind: mode_t, name: String, remedy: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("examine", name) }
        let place = name.isEmpty ? path : "\(path)/\(name)"
        guard status.st_mode & S_IFMT == kind else {
            throw OptimistError(
                .credentialsInsecure, "\(place) has the wrong file type. Remove it, then sign in again.")
        }
        guard status.st_uid == geteuid() else {
            throw OptimistError(
                .credentialsInsecure, "\(place) belongs to another user. Remove it, or choose another directory.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw OptimistError(.credentialsInsecure, "Other users can read \(place). Run: \(remedy) '\(place)'")
        }
    }

    private func failure(_ verb: String, _ name: String) -> OptimistError {
        let code = errno
        let place = name.isEmpty ? path : "\(path)/\(name)"
        if code == ELOOP || code == ENOTDIR {
            return OptimistError(.credentialsInsecure, "\(place) is a link. Remove it, or choose another directory.")
        }
        return OptimistError(
            verb == "open" || verb == "read" || verb == "examine" ? .credentialsUnreadable : .credentialsUnwritable,
            "Could not \(verb) \(place): \(String(cString: strerror(code))).",
            remedy: code == ENOSPC || code == EDQUOT ? .freeSpace : .none)
    }
}

/// A locked file. The lock is released when the file closes, at the latest on deinitialization.
private final class HeldFile: Sendable {
    private let descriptor: Mutex<CInt?>

    init(_ descriptor: CInt) { self.descriptor = Mutex(descriptor) }

    func letGo() {
        descriptor.withLock { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    deinit { letGo() }
}

// Renamed because members with the same names hide the C library's functions.
private func posixOpen(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
private func posixRead(_ file: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}
private func posixWrite(_ file: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int { write(file, buffer, count) }
