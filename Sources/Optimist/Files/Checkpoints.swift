// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import GRDB
import GRDBSQLite
import OptimistCore

/// Checkpoints the write-ahead log in the background.
///
/// SQLite itself would checkpoint within a commit, and one of the app's writes would wait while SQLite copies all pages
/// of a first sync.
///
/// > Source: SQLite, "Write-Ahead Logging": a passive checkpoint does not wait for readers or writers, and they do not
/// > wait for the checkpoint.
final class Checkpoints: Sendable {
    private let log = Mutex(WriteAheadLog())
    private let queue = DispatchQueue(label: "optimist.checkpoints", qos: .utility)
    private let path: String
    private let dependencies: Dependencies
    private let watch = Mutex<Task<Void, Never>?>(nil)

    init(_ url: URL, _ dependencies: Dependencies) {
        path = url.path
        self.dependencies = dependencies
    }

    deinit { watch.withLock { $0 }?.cancel() }

    /// Observes a connection's commits, in place of SQLite's own checkpoints.
    ///
    /// SQLite does not retain this object, so the connection must not outlive it.
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

    /// Starts a checkpoint if one is due after a commit. If it fails, the next commit retries it.
    ///
    /// - Parameter writer: The connection that committed.
    func committed(_ writer: some DatabaseWriter) {
        defer { watchForPause() }
        switch log.withLock({ $0.next() }) {
        case .nothing: return
        case .copyMeanwhile: queue.async { [self] in finish(copy()) }
        // The writer runs this before the next commit and before it closes.
        case .copyRest: writer.asyncWriteWithoutTransaction { [self] db in finish(Self.copy(by: db)) }
        case .copyNow: writer.writeWithoutTransaction { finish(Self.copy(by: $0)) }
        }
    }

    /// Checkpoints on the writing connection, so no commit can follow during the copy. Returns the number of copied pages.
    private static func copy(by writer: Database) -> Int {
        (try? writer.checkpoint(.passive).checkpointedFrameCount) ?? 0
    }

    /// Copies the rest of the log when the writes pause, so that the next write restarts the log.
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

    /// The lock also covers the start of the copy. A caller that sees the end of the watch, and then waits for the queue,
    /// therefore waits for the copy.
    private func goesOnWatching() -> Bool {
        log.withLock { log in
            switch log.look() {
            case .writing: return true
            case .copied: return false
            case .rest:
                queue.async { [self] in finish(copy()) }
                return false
            }
        }
    }

    /// Waits for the checkpoint of a long log. A continuous writer calls this between commits, and the app's writes do
    /// not wait. The next commit then restarts the log, unless a connection reads it.
    func catchUp() async {
        guard log.withLock({ $0.isBehind }) else { return }
        await untilIdle()
        // Only a few frames were added during the wait, so this is quick.
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

    /// If a checkpoint waits for a pause, runs it now, so that no checkpoint starts until the next write.
    func settle() async {
        await untilIdle()
        if log.withLock({ $0.endWatch() }) { await copyNow() }
    }

    /// Settles the log, and prevents all later checkpoints. The writer may still copy the rest of the log before it
    /// closes.
    func stop() async {
        await settle()
        log.withLock { $0.isOver = true }
        await untilIdle()
    }

    var isWatching: Bool { log.withLock { $0.isWatched } }

    func waitUntilIdle() { queue.sync {} }

    func untilIdle() async {
        await withCheckedContinuation { done in queue.async { done.resume() } }
    }

    private func finish(_ copied: Int) { log.withLock { $0.copied(copied) } }

    /// Checkpoints on a separate connection, which does not create the file if it was removed. Returns the number of
    /// copied pages.
    private func copy() -> Int {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { return 0 }
        // A connection opens the log on its first read.
        sqlite3_exec(connection, "PRAGMA checkpoint_fullfsync = ON; PRAGMA schema_version", nil, nil, nil)
        var (length, copied) = (Int32(0), Int32(0))
        let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, &length, &copied)
        return code == SQLITE_OK ? max(Int(copied), 0) : 0
    }
}

/// The length of the write-ahead log in pages, and when to checkpoint it. Pure.
struct WriteAheadLog: Sendable {
    enum Step: Sendable {
        case nothing
        /// Copies the log in the background, during commits.
        case copyMeanwhile
        /// Copies, between two commits, the few pages that were added during such a copy. The next commit then restarts
        /// the log.
        case copyRest
        /// Copies the log before the app's write returns.
        case copyNow
    }
    enum Look: Sendable { case writing, rest, copied }

    /// The log length that makes a checkpoint worthwhile when the writes pause: the checkpoint costs far less than the
    /// tens of writes before it.
    static let short = 250
    /// How long the writes must be idle to count as a pause.
    static let pause = Duration.milliseconds(500)
    /// The number of uncopied pages that triggers a checkpoint.
    static let portion = 4_000
    /// The most pages that are copied between two commits: as many as SQLite copies within a commit by default.
    static let rest = 1_000
    /// The log length at which the engine waits for the checkpoint: a log under constant writes never restarts.
    static let long = 16_000
    /// The log length at which the checkpoint runs between two commits, so that the app's writes also wait.
    static let longest = 64_000

    private var length = 0
    private var copied = 0
    /// The copy that runs.
    private var running: Step?
    /// Whether a portion was copied, and the pages added during that copy were not.
    private var hasRest = false
    private(set) var isWatched = false
    var isOver = false
    private var commits = 0
    private var seen = 0

    mutating func grew(to length: Int) {
        if length < self.length { (copied, hasRest) = (0, false) }
        self.length = length
        commits += 1
    }

    mutating func beginWatch() -> Bool {
        guard !isOver, !isWatched, length >= Self.short, copied < length else { return false }
        isWatched = true
        seen = commits
        return true
    }

    /// Checks whether the writes have paused. If so, the watch ends, and the checkpoint of remaining pages counts as
    /// started.
    mutating func look() -> Look {
        guard isWatched else { return .copied }
        if commits != seen || running != nil {
            seen = commits
            return .writing
        }
        isWatched = false
        return copyRest() ? .rest : .copied
    }

    /// Ends the wait for a pause. Returns whether pages remain; their checkpoint then counts as started.
    mutating func endWatch() -> Bool {
        guard isWatched else { return false }
        isWatched = false
        return copyRest()
    }

    mutating func next() -> Step {
        guard !isOver, running == nil else { return .nothing }
        let step = due
        if step != .nothing { running = step }
        return step
    }

    /// A log whose pages are all copied restarts with the next commit. Under constant writes, a copy in the background
    /// always leaves some pages, and the log would grow: each commit then waits for new blocks of the file.
    private var due: Step {
        let uncopied = length - copied
        if hasRest, uncopied > 0, uncopied <= Self.rest { return .copyRest }
        if uncopied < Self.portion { return .nothing }
        return length >= Self.longest ? .copyNow : .copyMeanwhile
    }

    /// Whether the engine must wait before it writes more.
    var isBehind: Bool { running != nil && length >= Self.long }

    /// Returns whether pages remain. Their checkpoint then counts as started.
    mutating func copyRest() -> Bool {
        guard !isOver, running == nil, copied < length else { return false }
        running = .copyRest
        return true
    }

    /// Records that a checkpoint has ended, and how many pages of the log are copied.
    mutating func copied(_ pages: Int) {
        hasRest = running == .copyMeanwhile
        running = nil
        copied = min(pages, length)
    }
}
