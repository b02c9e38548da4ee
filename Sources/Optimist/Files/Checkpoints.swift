// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import GRDB
import GRDBSQLite
import OptimistCore

/// Copies the write-ahead log back into the database while the app goes on writing.
///
/// SQLite itself would do this within the commit that finds the log long. One of the app's writes would then wait while SQLite
/// copies everything that a first sync has written.
///
/// > Source: SQLite, "Write-Ahead Logging": a passive checkpoint waits for no reader or writer, and none waits for it.
final class Checkpoints: Sendable {
    private let log = Mutex(WriteAheadLog())
    private let queue = DispatchQueue(label: "optimist.checkpoints", qos: .utility)
    private let path: String
    private let dependencies: Dependencies
    /// Waits for a pause of the writes.
    private let watch = Mutex<Task<Void, Never>?>(nil)

    init(_ url: URL, _ dependencies: Dependencies) {
        path = url.path
        self.dependencies = dependencies
    }

    deinit { watch.withLock { $0 }?.cancel() }

    /// Listens to the commits of a connection, in place of SQLite's own checkpoints.
    ///
    /// The connection must not outlive this object, because SQLite does not retain it.
    func attach(to db: Database) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        _ = sqlite3_wal_hook(
            db.sqliteConnection,
            { context, _, _, pages in
                if let context {
                    Unmanaged<Checkpoints>.fromOpaque(context).takeUnretainedValue().log.withLock {
                        $0.grew(to: Int(pages))
                    }
                }
                return SQLITE_OK
            }, this)
    }

    /// Does what is due after a commit. If a copy fails, it is retried after the next commit.
    ///
    /// - Parameter writer: The connection that has committed.
    func committed(_ writer: some DatabaseWriter) {
        defer { watchForPause() }
        switch log.withLock({ $0.next() }) {
        case .nothing: return
        case .copyMeanwhile: queue.async { [self] in finish(copy()) }
        case .copyNow:
            finish((try? writer.writeWithoutTransaction { try $0.checkpoint(.passive).checkpointedFrameCount }) ?? 0)
        }
    }

    /// Copies the rest of the log once no write has come for a while. The next write then starts the log over.
    private func watchForPause() {
        guard log.withLock({ $0.beginWatch() }) else { return }
        let clock = dependencies.clock
        let task = dependencies.spawn { [weak self] in
            while (try? await clock.sleep(for: WriteAheadLog.pause)) != nil {
                guard let self, goesOnWatching() else { return }
            }
        }
        watch.withLock { $0 = task }
    }

    private func goesOnWatching() -> Bool {
        switch log.withLock({ $0.look() }) {
        case .writing: return true
        case .copied: return false
        case .rest:
            queue.async { [self] in finish(copy()) }
            return false
        }
    }

    /// Waits until a long log is copied. A caller that writes continuously calls this between two commits. The app's writes
    /// need not wait, and the next commit starts the log over, unless a connection reads it.
    func catchUp() async {
        guard log.withLock({ $0.isBehind }) else { return }
        await untilIdle()
        // Few frames were written meanwhile, so copying them takes hardly any time.
        for _ in 0..<2 where log.withLock({ $0.copyRest() }) { await copyNow() }
    }

    private func copyNow() async {
        await withCheckedContinuation { done in
            queue.async { [self] in
                finish(copy())
                done.resume()
            }
        }
    }

    /// Copies at once what would be copied when the writes pause, so that no copy begins later, until the next write.
    func settle() async {
        await untilIdle()
        if log.withLock({ $0.endWatch() }) { await copyNow() }
    }

    /// Settles the log for good: no copy begins after that, whatever is still written.
    func stop() async {
        await settle()
        log.withLock { $0.isOver = true }
    }

    /// Whether the rest of the log waits for a pause of the writes.
    var isWatching: Bool { log.withLock { $0.isWatched } }

    func waitUntilIdle() { queue.sync {} }

    /// Returns once all copies that were due are done.
    func untilIdle() async {
        await withCheckedContinuation { done in queue.async { done.resume() } }
    }

    private func finish(_ copied: Int) { log.withLock { $0.copied(copied) } }

    /// Copies on a connection of its own, which does not create the file if the file has been removed. Returns how many pages
    /// of the log have been copied.
    private func copy() -> Int {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { return 0 }
        // A connection learns of the log when it first reads.
        sqlite3_exec(connection, "PRAGMA checkpoint_fullfsync = ON; PRAGMA schema_version", nil, nil, nil)
        var (length, copied) = (Int32(0), Int32(0))
        let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, &length, &copied)
        return code == SQLITE_OK ? max(Int(copied), 0) : 0
    }
}

/// The length of the write-ahead log in pages, and what to do about it. Pure.
struct WriteAheadLog: Sendable {
    enum Step: Sendable { case nothing, copyMeanwhile, copyNow }
    /// What a look at the log finds after a pause.
    enum Look: Sendable { case writing, rest, copied }

    /// From this length on, the log is copied whole when the writes pause. The tens of writes that filled it cost far more than
    /// the copy does.
    static let short = 250
    /// How long no write comes in a pause of the writes.
    static let pause = Duration.milliseconds(500)
    /// The number of uncopied pages from which a copy is due.
    static let portion = 4_000
    /// From this length on, the engine waits until the log is copied: a log that is written to all the time never starts over.
    static let long = 16_000
    /// From this length on, the log is copied between two commits, and the app's own writes wait for that.
    static let longest = 64_000

    private var length = 0
    private var copied = 0
    private var isCopying = false
    /// Whether a pause of the writes is being waited for.
    private(set) var isWatched = false
    /// From then on no copy begins.
    var isOver = false
    private var commits = 0
    /// How many commits there were at the last look.
    private var seen = 0

    /// Notes a commit, and the length of the log after it.
    mutating func grew(to length: Int) {
        if length < self.length { copied = 0 }
        self.length = length
        commits += 1
    }

    /// Returns whether to begin to wait for a pause of the writes.
    mutating func beginWatch() -> Bool {
        guard !isOver, !isWatched, length >= Self.short, copied < length else { return false }
        isWatched = true
        seen = commits
        return true
    }

    /// Finds out whether the writes pause. The watch ends unless they go on. If there is a rest, its copy counts as begun.
    mutating func look() -> Look {
        guard isWatched else { return .copied }
        if commits != seen || isCopying {
            seen = commits
            return .writing
        }
        isWatched = false
        return copyRest() ? .rest : .copied
    }

    /// Ends the wait for a pause. Returns whether frames are left to copy, whose copy then counts as begun.
    mutating func endWatch() -> Bool {
        guard isWatched else { return false }
        isWatched = false
        return copyRest()
    }

    mutating func next() -> Step {
        guard !isOver, !isCopying, length - copied >= Self.portion else { return .nothing }
        isCopying = true
        return length >= Self.longest ? .copyNow : .copyMeanwhile
    }

    /// Whether the engine waits before it writes more.
    var isBehind: Bool { isCopying && length >= Self.long }

    /// Returns whether frames are left to copy. If there are, the copy counts as begun.
    mutating func copyRest() -> Bool {
        guard !isOver, !isCopying, copied < length else { return false }
        isCopying = true
        return true
    }

    /// Notes that this many pages from the beginning of the log are copied.
    mutating func copied(_ pages: Int) {
        isCopying = false
        copied = min(pages, length)
    }
}
