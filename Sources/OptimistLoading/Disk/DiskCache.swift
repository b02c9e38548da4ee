// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore

/// Keeps bytes under keys in a folder, from one start of the app to the next.
///
/// An entry comes back whole and as it was stored, or not at all: each is kept with its key and a checksum, and is
/// compared with both when it is read. What is torn, truncated or changed is a miss, and goes. The files are never
/// synchronized: a loss of power may take what was stored last, as if it had been evicted.
///
/// Any number of threads may use one cache, and several caches, in several processes, one folder. All calls block on
/// the disk, so make them from threads that may block. None of them throws: a cache that cannot read has nothing, and
/// one that cannot write goes on without. ``counts`` tells.
///
/// The folder may be entered by its owner only, and is kept out of backups where the system makes them.
public final class DiskCache: Sendable {
    let folder: DiskFolder
    let limits: DiskLimits
    let index: Mutex<DiskIndex>
    /// Taken to make and remove files, before the index's lock, and held while the disk works. No reader waits for it.
    let housekeeping = Mutex(())
    /// Asked before each write for an error number to fail with. Nil outside of tests.
    let fault: (@Sendable () -> CInt?)?
    private let now: @Sendable () -> Date

    /// Entries up to this size share files.
    static let largestShared = 64 << 10

    /// How long nothing is written after a write has failed: 10 seconds.
    package static let pauseAfterFailure: Duration = .seconds(10)

    /// Touches no file: the folder is made by the first write, and looked through by the first use.
    ///
    /// - Parameters:
    ///   - folder: For this cache alone, or for several of the same kind. Anything else in it counts against the limit.
    ///     What is to outlive a sign-out has a folder of its own, since ``removeAll()`` empties this one.
    ///   - limits: How much it keeps, and for how long. Default: 150 MB, for 30 days after an entry's last use.
    ///   - now: The time of day, for the ages. Default: the system's.
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

    /// Returns what is stored under a key, or nil: it never was, has gone, is too old or is damaged.
    ///
    /// An entry that has expired is returned too. See ``DiskEntry/expiresAt``.
    @_spi(Internals) public func entry(for key: String) -> DiskEntry? { stored(for: key)?.entry }

    /// Stores an entry in place of the one that the key had.
    ///
    /// - Returns: False if it is not stored: it is larger than the limits allow, writing failed or is paused after a
    ///   failure, or somebody stored something newer or removed everything at the same time. What the key had before
    ///   is gone in any case.
    @discardableResult
    @_spi(Internals) public func store(_ entry: DiskEntry, for key: String) -> Bool {
        let outcome = write(entry, for: key, replacing: nil)
        if outcome == .failed { remove(key) }  // What the caller has replaced must not be found again.
        return outcome == .stored
    }

    /// Notes that the source has confirmed an entry, as HTTP's status 304 does.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - expiresAt: Replaces the former date, also if it is nil.
    ///   - etag: Replaces the former tag. Nil, the default: that stays.
    ///   - lastModified: Replaces the former date of the last change. Nil, the default: that stays.
    /// - Returns: False if there is no such entry, it was replaced at the same time, or it could not be written: the
    ///   entry then stays as it was.
    @discardableResult
    package func refresh(_ key: String, expiresAt: Date?, etag: String? = nil, lastModified: String? = nil) -> Bool {
        refresh(key, to: Validity(expiresAt: expiresAt, etag: etag, lastModified: lastModified)) { _ in true }
    }

    /// - Parameter isConfirmed: Whether it is this entry that the source has confirmed.
    func refresh(_ key: String, to validity: Validity, if isConfirmed: (DiskEntry) -> Bool) -> Bool {
        guard let (entry, place) = stored(for: key), isConfirmed(entry) else { return false }
        let validity = validity.confirming(entry.validity)
        let confirmed = DiskEntry(
            bytes: entry.bytes, storedAt: now(), expiresAt: validity.expiresAt, etag: validity.etag,
            lastModified: validity.lastModified)
        return write(confirmed, for: key, replacing: place) == .stored
    }

    /// Removes what is stored under a key. It does not come back when the folder is opened again.
    ///
    /// The record's mark is cleared in its file. That needs no room on a full disk, every other cache sees it when it
    /// reads the record next, and no later file has to stay for as long as an earlier one. It does not remove what
    /// another cache has stored under the key since this one looked through the folder.
    package func remove(_ key: String) {
        let digest = XXH64.hash(key)
        settle(withIndex { $0.remove(digest) })
    }

    /// Removes everything, also what other caches have written to the folder, and what other tiers keep in this one:
    /// for signing out, which leaves nothing.
    ///
    /// If the folder cannot be listed, what this cache knows goes at once, and the rest before anything is found again.
    /// What cannot be removed either is noted in ``counts``.
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
        _ = files  // Closed here, where nobody waits.
    }

    /// Removes the files that are a cache's.
    func remove(_ items: [DiskFolder.Item]) {
        let failures = items.filter(\.isSegment).compactMap { folder.remove($0.name) }
        if let code = failures.first { note(code) }
    }

    /// What it holds and what has happened.
    public var counts: DiskCounts {
        withIndex { index in
            var counts = index.counts
            counts.entries = index.places.count
            counts.bytes = index.segments.values.reduce(0) { $0 + $1.end }
            return counts
        }
    }

    /// Seconds since 1970, as far as the files can tell them.
    var time: Double { max(0, min(now().timeIntervalSince1970, Double(UInt32.max))) }
}

extension DiskCache {
    /// Does something under the lock, after the folder has been looked through. If it cannot be, the index is empty.
    func withIndex<Result: Sendable>(_ work: (inout DiskIndex) -> Result) -> Result {
        if let result = index.withLock({ $0.isOpen ? work(&$0) : nil }) { return result }
        open()
        return index.withLock { work(&$0) }
    }

    /// Does to the files what the index has decided.
    func settle(_ retired: RetiredRecord?) {
        guard let retired else { return }
        var failure: CInt?
        if case .unmark(let offset) = retired.deed { failure = unmark(offset, in: retired) }
        if retired.deed == .removeFile || failure != nil { failure = folder.remove(retired.fileName) }
        if let failure { note(failure) }
    }

    /// Returns why a record could not be marked: then its file is to go. Better that others go too than that it comes
    /// back.
    private func unmark(_ offset: UInt32, in record: RetiredRecord) -> CInt? {
        switch record.file.map({ .success($0) }) ?? folder.open(record.fileName) {
        case .success(let file): file.overwrite(0, at: Int(offset) + RecordHead.markOffset)
        case .failure(let error): error.code == ENOENT ? nil : error.code
        }
    }

    /// Cuts off what a sealed segment did not use.
    func trim(_ sealed: (file: DiskFile, sizeBytes: Int, emptied: RetiredRecord?)?) {
        sealed?.file.resize(to: sealed?.sizeBytes ?? 0)
        settle(sealed?.emptied)
    }

    /// Counts a failure, and writes no more for a while.
    func note(_ code: CInt) {
        let time = time
        index.withLock { index in
            index.counts.failedWrites += 1
            index.counts.lastFailure = .disk(code, retryAfter: Self.pauseAfterFailure)
            index.pause = time..<(time + Double(Self.pauseAfterFailure.components.seconds))
        }
    }
}
