// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open file, closed when its last user lets go of it: a read that has begun can never meet a closed descriptor.
final class DiskFile: Sendable {
    private let descriptor: CInt
    /// What the file had when it was opened.
    let sizeBytes: Int
    let modifiedAt: Int

    /// Opens a file to read and, where that is allowed, to write in place.
    ///
    /// Nil: there is none, or what is there is a link, a directory or a pipe.
    convenience init?(reading path: String) {
        let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        var descriptor = open(path, O_RDWR | flags)
        if descriptor < 0, errno == EACCES || errno == EROFS { descriptor = open(path, O_RDONLY | flags) }
        self.init(descriptor)
    }

    /// Makes a file that did not exist. Nil: see `errno`.
    convenience init?(creating path: String) {
        self.init(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
    }

    private init?(_ descriptor: CInt) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        sizeBytes = Int(status.st_size)
        #if canImport(Darwin)
            modifiedAt = Int(status.st_mtimespec.tv_sec)
        #else
            modifiedAt = Int(status.st_mtim.tv_sec)
        #endif
        if !isFile { return nil }  // `deinit` runs for an initialized object, and closes it.
    }

    deinit { close(descriptor) }

    /// Whether the file is still in a folder. False after the file was unlinked.
    var isLinked: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// Fills two buffers with consecutive bytes in one call. False: the file ends before, or cannot be read.
    func read(_ first: UnsafeMutableRawBufferPointer, _ second: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
            parts[0] = iovec(iov_base: first.baseAddress, iov_len: first.count)
            parts[1] = iovec(iov_base: second.baseAddress, iov_len: second.count)
            return retrying { preadv(descriptor, parts.baseAddress, 2, off_t(offset)) } == first.count + second.count
        }
    }

    /// Returns how many bytes could be read: fewer than asked for at the end of the file, none if it cannot be read.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        max(0, retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) })
    }

    /// Writes two arrays one after the other. Returns the system's error number, or nil when all is written.
    func write(_ first: [UInt8], _ second: [UInt8] = [], at offset: Int) -> CInt? {
        first.withUnsafeBytes { first in
            second.withUnsafeBytes { second in
                withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                    parts[0] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count)
                    parts[1] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
                    let count = retrying { pwritev(descriptor, parts.baseAddress, 2, off_t(offset)) }
                    if count < 0 { return errno }
                    return count == first.count + second.count ? nil : ENOSPC
                }
            }
        }
    }

    /// Changes four bytes in place. Returns the system's error number, or nil.
    func overwrite(_ number: UInt32, at offset: Int) -> CInt? {
        withUnsafeBytes(of: number.littleEndian) { bytes in
            retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) } == bytes.count ? nil : errno
        }
    }

    /// Cuts the file off, or lengthens it by bytes that take no room yet. Returns the system's error number, or nil.
    @discardableResult func resize(to sizeBytes: Int) -> CInt? {
        retrying { Int(ftruncate(descriptor, off_t(sizeBytes))) } == 0 ? nil : errno
    }
}

/// Calls again what a signal interrupted.
private func retrying(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
