// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open file, closed on release, so that a read never uses a closed descriptor.
final class DiskFile: Sendable {
    private let descriptor: CInt
    /// The size when the file was opened.
    let sizeBytes: Int
    let modifiedAt: Int

    /// Opens a file for reading and, if permitted, for writing in place.
    ///
    /// Nil if it does not exist, or is not a regular file.
    convenience init?(reading path: String) {
        let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        var descriptor = open(path, O_RDWR | flags)
        if descriptor < 0, errno == EACCES || errno == EROFS { descriptor = open(path, O_RDONLY | flags) }
        self.init(descriptor)
    }

    /// Creates a file that must not exist. On failure, returns nil and sets `errno`.
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

    /// False after the file was unlinked.
    var isLinked: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// Fills two buffers with consecutive bytes in one call. Returns false if the file is too short or cannot be read.
    func read(_ first: UnsafeMutableRawBufferPointer, _ second: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
            parts[0] = iovec(iov_base: first.baseAddress, iov_len: first.count)
            parts[1] = iovec(iov_base: second.baseAddress, iov_len: second.count)
            return retrying { preadv(descriptor, parts.baseAddress, 2, off_t(offset)) } == first.count + second.count
        }
    }

    /// Returns the number of bytes read: fewer at the end of the file, zero if it cannot be read.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        max(0, retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) })
    }

    /// Writes two arrays one after the other. Returns the system's error number, or nil on success.
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

    /// Returns the system's error number, or nil on success.
    func overwrite(_ number: UInt32, at offset: Int) -> CInt? {
        withUnsafeBytes(of: number.littleEndian) { bytes in
            retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) } == bytes.count ? nil : errno
        }
    }

    /// Truncates the file, or extends it by a hole. Returns the system's error number, or nil on success.
    @discardableResult func resize(to sizeBytes: Int) -> CInt? {
        retrying { Int(ftruncate(descriptor, off_t(sizeBytes))) } == 0 ? nil : errno
    }
}

private func retrying(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
