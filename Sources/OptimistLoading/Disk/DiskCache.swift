// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore

/// A cache of bytes in a folder, which persists between launches.
///
/// A read returns an entry exactly as it was stored, or nothing: each entry is stored with its key and a checksum, and
/// verified against both. An entry that is torn, truncated or changed counts as a miss and is removed. Files are never
/// synced, so a power loss may lose the last entries, as if they had been evicted.
///
/// Any number of threads may share a cache, and several caches, in several processes, may share a folder. All calls
/// block on the disk, so call them from threads that may block. They do not throw: if the disk cannot be read, the
/// cache acts as empty, and if it cannot be written, entries are not stored. ``counts`` reports such failures.
///
/// Only the folder's owner may access it. It is excluded from backups where the system supports that.
public final class DiskCache: Sendable {
    let folder: DiskFolder
    let limits: DiskLimits
    let index: Mutex<DiskIndex>
    /// Held while files are created and removed. Taken before the index's lock. Readers never wait for it.
    let housekeeping = Mutex(())
    /// For tests: called before each write, to return an error number to fail with.
    let fault: (@Sendable () -> CInt?)?
    private let now: @Sendable () -> Date

    /// Entries up to this size share files.
    static let largestShared = 64 << 10

    package static let pauseAfterFailure: Duration = .seconds(10)

    /// Creates a cache without touching the disk. The first use scans the folder, and the first write creates it.
    ///
    /// - Parameters:
    ///   - folder: A folder for this cache, or for several caches. Other files in it count against the limit. Data that
    ///     must outlive a sign-out needs a separate folder, because ``removeAll()`` empties this one.
    ///   - limits: How much is stored, and for how long. Default: 150 MB, for 30 days after an entry's last use.
    ///   - now: The time of day, for the ages of entries. Default: the system's.
    public convenience init(
        at folder: URL, limits: DiskLimits = DiskLimits(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(at: folder, limits: limits, now: now, fault: nil)
    }

    /// - Parameter openFault: See ``DiskFolder/fault``.
    init(
        at folder: URL, limits: DiskLimits, now: @escaping @Sendable () -> Date, fault: (@Sendable () -> CInt?)?,
        openFault: (@Sendable () -> CInt?)? = nil
    ) {
        self.folder = DiskFolder(folder, fault: openFault)
        self.limits = limits
        self.now = now
        self.fault = fault
        index = Mutex(DiskIndex(limits: limits))
    }

    deinit { trim(index.withLock { $0.seal() }) }

    /// Returns a key's entry, even if it has expired: see ``DiskEntry/expiresAt``. Nil if it was never stored, or was
    /// evicted, too old or damaged.
    @_spi(Internals) public func entry(for key: String) -> DiskEntry? { stored(for: key)?.entry }

    /// Stores an entry, replacing the key's former one.
    ///
    /// - Returns: False if the entry was not stored, because it exceeds the limits, because writing failed or is paused
    ///   after a failure, or because another call stored a newer entry or removed everything at the same time. The
    ///   previous entry is removed in any case.
    @discardableResult
    @_spi(Internals) public func store(_ entry: DiskEntry, for key: String) -> Bool {
        let outcome = write(entry, for: key, replacing: nil)
        if outcome == .failed { remove(key) }  // The entry that the caller replaced must not be found again.
        return outcome == .stored
    }

    /// Updates an entry that the source has confirmed, as with HTTP status 304.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - expiresAt: Replaces the entry's date, even if nil.
    ///   - etag: Replaces the entry's tag. Default: nil, keep it.
    ///   - lastModified: Replaces the date of the last change. Default: nil, keep it.
    /// - Returns: False if there is no such entry, if it was replaced at the same time, or if it could not be written.
    ///   The previous entry is then kept.
    @discardableResult
    package func refresh(_ key: String, expiresAt: Date?, etag: String? = nil, lastModified: String? = nil) -> Bool {
        refresh(key, to: Validity(expiresAt: expiresAt, etag: etag, lastModified: lastModified)) { _ in true }
    }

    func refresh(_ key: String, to validity: Validity, if isConfirmed: (DiskEntry) -> Bool) -> Bool {
        guard let (entry, place) = stored(for: key), isConfirmed(entry) else { return false }
        let validity = validity.confirming(entry.validity)
        let confirmed = DiskEntry(
            bytes: entry.bytes, storedAt: now(), expiresAt: validity.expiresAt, etag: validity.etag,
            lastModified: validity.lastModified)
        return write(confirmed, for: key, replacing: place) == .stored
    }

    /// Removes a key's entry, so that it is not found again, even after a relaunch.
    ///
    /// The record's mark is cleared in its file. This works on a full disk, and other caches see the change at the next
    /// read. If another cache stored an entry under this key after this cache scanned the folder, that entry is not
    /// removed.
    package func remove(_ key: String) {
        let digest = XXH64.hash(key)
        settle(withIndex { $0.remove(digest) })
    }

    /// Removes all entries, including those of other caches in this folder. Call it when the user signs out.
    ///
    /// If the folder cannot be listed, known entries are removed immediately, and all others before the next lookup.
    /// Failures are noted in ``counts``.
    public func removeAll() {
        let files = housekeeping.withLock { _ in
            let (files, names) = index.withLock { $0.removeAll() }
            switch folder.items() {
            case .success(let items): remove(items)
            case .failure(let error):
                let failures = names.compactMap { folder.remove($0) }
                index.withLock { $0.close() }
                note(failures.first ?? error.code)
            }
            return files
        }
        _ = files  // Closed here, where no caller waits.
    }

    func remove(_ items: [DiskFolder.Item]) {
        let failures = items.filter(\.isSegment).compactMap { folder.remove($0.name) }
        if let code = failures.first { note(code) }
    }

    /// The current size and activity.
    public var counts: DiskCounts {
        withIndex { index in
            var counts = index.counts
            counts.entries = index.places.count
            counts.bytes = index.segments.values.reduce(0) { $0 + $1.end }
            return counts
        }
    }

    /// Seconds since 1970, clamped to the range of a file's timestamp.
    var time: Double { max(0, min(now().timeIntervalSince1970, Double(UInt32.max))) }
}

extension DiskCache {
    /// Runs a closure under the lock, after the folder was scanned. If scanning fails, the index is empty.
    func withIndex<Result: Sendable>(_ work: (inout DiskIndex) -> Result) -> Result {
        if let result = index.withLock({ $0.isOpen ? work(&$0) : nil }) { return result }
        open()
        return index.withLock { work(&$0) }
    }

    func settle(_ retired: RetiredRecord?) {
        guard let retired else { return }
        var failure: CInt?
        if case .unmark(let offset) = retired.deed { failure = unmark(offset, in: retired) }
        if retired.deed == .removeFile || failure != nil { failure = folder.remove(retired.fileName) }
        if let failure { note(failure) }
    }

    /// Clears the record's mark. Returns an error number on failure. The caller then removes the record's file: losing
    /// other records is better than finding this one again.
    private func unmark(_ offset: UInt32, in record: RetiredRecord) -> CInt? {
        switch record.file.map({ .success($0) }) ?? folder.open(record.fileName) {
        case .success(let file): file.overwrite(0, at: Int(offset) + RecordHead.markOffset)
        case .failure(let error): error.code == ENOENT ? nil : error.code
        }
    }

    func trim(_ sealed: (file: DiskFile, sizeBytes: Int, emptied: RetiredRecord?)?) {
        sealed?.file.resize(to: sealed?.sizeBytes ?? 0)
        settle(sealed?.emptied)
    }

    func note(_ code: CInt) {
        let time = time
        index.withLock { index in
            index.counts.failedWrites += 1
            index.counts.lastFailure = .disk(code, retryAfter: Self.pauseAfterFailure)
            index.pause = time..<(time + Double(Self.pauseAfterFailure.components.seconds))
        }
    }
}
