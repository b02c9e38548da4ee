// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folder of a cache: the files it has, and the lock under which their number changes.
struct DiskFolder: Sendable {
    let path: String
    /// Asked before the folder is listed or a file in it opened for an error number to fail with. Nil outside of tests.
    let fault: (@Sendable () -> CInt?)?

    struct Item {
        let name: String
        var sizeBytes: Int
        /// Seconds since 1970.
        let modifiedAt: UInt32

        /// Whether it was made by a cache, so that a cache may remove it.
        var isSegment: Bool { name.hasSuffix(DiskFolder.suffix) }
    }

    private static let suffix = ".segment"

    init(_ url: URL, fault: (@Sendable () -> CInt?)? = nil) {
        path = url.path(percentEncoded: false)
        self.fault = fault
    }

    /// Returns the name of the segment that is made at a stamp. Names sort by age.
    static func name(for stamp: UInt64) -> String {
        let digits = String(stamp, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + suffix
    }

    /// Returns all regular files, oldest name first: none if there is no folder. Fails if the folder cannot be listed,
    /// as when too many files are open.
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

    /// Whether there is a file, even if it cannot be opened.
    func hasFile(_ name: String) -> Bool {
        var status = stat()
        return lstat("\(path)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns the system's error number, or nil when the file is gone.
    @discardableResult func remove(_ name: String) -> CInt? {
        unlink("\(path)/\(name)") == 0 || errno == ENOENT ? nil : errno
    }

    /// Makes a file of some size. Returns the system's error number if it cannot: `EEXIST` when there is one.
    func create(_ name: String, sizeBytes: Int) -> Result<DiskFile, DiskError> {
        guard let file = DiskFile(creating: "\(path)/\(name)") else { return .failure(DiskError(code: errno)) }
        if let code = file.resize(to: sizeBytes) {
            remove(name)
            return .failure(DiskError(code: code))
        }
        return .success(file)
    }

    /// Does something while no other cache in any process makes or removes files here. Makes the folder if need be.
    ///
    /// It is held for a moment only, and never while its holder waits for anything else.
    func whileLocked<R>(_ work: () -> R) -> Result<R, DiskError> {
        var directory = openDirectory()
        if directory < 0, errno == ENOENT {
            if let code = make() { return .failure(DiskError(code: code)) }
            directory = openDirectory()
        }
        guard directory >= 0 else { return .failure(DiskError(code: errno)) }
        defer { close(directory) }  // This also ends the lock.
        while flock(directory, LOCK_EX) != 0 {
            // Where files cannot be locked, as on some network disks, two caches may exceed the limit: no more than
            // that.
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

    /// Whether there may be a file, which opens when others are closed.
    var isForWantOfFiles: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
}

// Inside a type with a member of the same name, the function of the C library needs another.
private func posixOpen(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
