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

/// A directory that only its owner may enter, with small files that only their owner may read.
///
/// Everything is done relative to one open descriptor and follows no symbolic link. Processes that write take turns.
struct PrivateDirectory {
    let path: String

    private static let largestFileBytes = 1 << 20

    /// Returns the content of a file, or nil when the file or the directory does not exist.
    func read(_ name: String) throws -> [UInt8]? {
        guard let directory = try open(creating: false) else { return nil }
        defer { close(directory) }
        return try read(name, in: directory)
    }

    /// Replaces a file, all or nothing. When it returns, the new content survives a power loss.
    func replace(_ name: String, with bytes: [UInt8]) throws {
        try withLock { directory in
            let temporary = try write(bytes, toTemporaryFor: name, in: directory)
            guard renameat(directory, temporary, directory, name) == 0 else { throw failure("rename", name) }
            try synchronize(directory, name)
        }
    }

    /// Returns the content of a file, and makes it with `bytes` if there is none.
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

    /// Removes a file and what a crash may have left of its successor. It is no error if there is none.
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

    /// Locks a file of its own, unless another process has the lock. Nil: another process has it.
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
        defer { close(directory) }  // This also ends the lock.
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
        _ = unlinkat(directory, temporary, 0)  // Left by a crash: the process that made it no longer holds the lock.
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
                .credentialsInsecure, "\(place) is not what it should be. Remove it, then sign in again.")
        }
        guard status.st_uid == geteuid() else {
            throw OptimistError(
                .credentialsInsecure, "\(place) belongs to another user. Remove it, or name another directory.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw OptimistError(.credentialsInsecure, "Others can read \(place). Run: \(remedy) '\(place)'")
        }
    }

    private func failure(_ verb: String, _ name: String) -> OptimistError {
        let code = errno
        let place = name.isEmpty ? path : "\(path)/\(name)"
        if code == ELOOP || code == ENOTDIR {
            return OptimistError(.credentialsInsecure, "\(place) is a link. Remove it, or name another directory.")
        }
        return OptimistError(
            verb == "open" || verb == "read" || verb == "examine" ? .credentialsUnreadable : .credentialsUnwritable,
            "Could not \(verb) \(place): \(String(cString: strerror(code))).",
            remedy: code == ENOSPC || code == EDQUOT ? .freeSpace : .none)
    }
}

/// An open file whose lock ends with it, at the latest when its last holder lets go.
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

// Inside a type with members of the same names, the functions of the C library need others.
private func posixOpen(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
private func posixRead(_ file: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}
private func posixWrite(_ file: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int { write(file, buffer, count) }
