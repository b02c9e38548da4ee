// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folder of a cache, and the lock that guards its list of files.
struct DiskFolder: Sendable {
    let path: String
    /// For tests: called before the folder is listed or a file opened, to return an error number to fail with.
    let fault: (@Sendable () -> CInt?)?

    struct Item {
        let name: String
        var sizeBytes: Int
        /// Seconds since 1970.
        let modifiedAt: UInt32

        /// Whether a cache created this file, so that a cache may remove it.
        var isSegment: Bool { name.hasSuffix(DiskFolder.suffix) }
    }

    private static let suffix = ".segment"

    init(_ url: URL, fault: (@Sendable () -> CInt?)? = nil) {
        path = url.path(percentEncoded: false)
        self.fault = fault
    }

    /// Returns the name of the segment created at a stamp. Names sort by age.
    static func name(for stamp: UInt64) -> String {
        let digits = String(stamp, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + suffix
    }

    /// Returns all regular files sorted by name, oldest first. Empty if the folder does not exist. Fails if the folder
    /// cannot be listed, for example when too many files are open.
    func items() -> Result<[Item], DiskError> {
        if let code = fault?() { return .failure(DiskError(code: code)) }
        guard let directory = opendir(path) else {
            return errno == ENOENT ? .success([]) : .failure(DiskError(code: errno))
        }
        defer { closedir(directory) }
        var items: [Item] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard fstatat(dirfd(directory), name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            #if canImport(Darwin)
                let modified = status.st_mtimespec.tv_sec
            #else
                let modified = status.st_mtim.tv_sec
            #endif
            items.append(
                Item(name: name, sizeBytes: Int(status.st_size), modifiedAt: UInt32(clamping: Int(modified))))
        }
        return .success(items.sorted { $0.name < $1.name })
    }

    func open(_ name: String) -> Result<DiskFile, DiskError> {
        if let code = fault?() { return .failure(DiskError(code: code)) }
        guard let file = DiskFile(reading: "\(path)/\(name)") else { return .failure(DiskError(code: errno)) }
        return .success(file)
    }

    func hasFile(_ name: String) -> Bool {
        var status = stat()
        return lstat("\(path)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns the system's error number, or nil when the file is gone.
    @discardableResult func remove(_ name: String) -> CInt? {
        unlink("\(path)/\(name)") == 0 || errno == ENOENT ? nil : errno
    }

    /// Fails with `EEXIST` if the file exists.
    func create(_ name: String, sizeBytes: Int) -> Result<DiskFile, DiskError> {
        guard let file = DiskFile(creating: "\(path)/\(name)") else { return .failure(DiskError(code: errno)) }
        if let code = file.resize(to: sizeBytes) {
            remove(name)
            return .failure(DiskError(code: code))
        }
        return .success(file)
    }

    /// Runs a closure while no other cache in any process creates or removes files here. Creates the folder if
    /// necessary.
    ///
    /// Caches hold the lock only briefly, and never while they wait for anything else.
    func whileLocked<R>(_ work: () -> R) -> Result<R, DiskError> {
        var directory = openDirectory()
        if directory < 0, errno == ENOENT {
            if let code = make() { return .failure(DiskError(code: code)) }
            directory = openDirectory()
        }
        guard directory >= 0 else { return .failure(DiskError(code: errno)) }
        defer { close(directory) }  // Closing also releases the lock.
        while flock(directory, LOCK_EX) != 0 {
            // Without file locks, as on some network disks, two caches may exceed the limit, but nothing worse happens.
            guard errno == EINTR else { break }
        }
        return .success(work())
    }

    private func openDirectory() -> CInt { posixOpen(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }

    private func make() -> CInt? {
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent()
        try? FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { return errno }
        #if canImport(Darwin)
            var url = URL(fileURLWithPath: path)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? url.setResourceValues(values)
        #endif
        return nil
    }
}

/// The system's error number.
struct DiskError: Error {
    let code: CInt

    /// Whether the failure may end when other files are closed.
    var isForWantOfFiles: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
}

// A type with a member named `open` cannot call the C function directly.
private func posixOpen(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
