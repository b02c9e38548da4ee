// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

extension Store {
    var file: URL { URL(filePath: pool.path) }

    /// SQLite's data version. It changes when this connection can see a commit of another connection.
    static func dataVersion(_ db: Database) throws -> Int64 {
        try RowStatement("PRAGMA data_version", in: db).first([]) { $0.int(0) } ?? 0
    }

    /// Detects commits of other processes at the start of a transaction. If there are any, notifies live queries and
    /// moves the clock past the other processes' stamps.
    func meetOthers(_ file: inout SharedFile, capture: CaptureContext, in db: Database) throws -> Bool {
        let version = try Self.dataVersion(db)
        if version == file.version { return false }
        let ceiling = Stamp(rawValue: try Meta.int(.stampCeiling, in: db) ?? 0)
        // The ceiling only falls if a process restarted a clock that was far ahead (M4).
        if ceiling < file.ceiling { capture.restart(at: ceiling) } else { capture.resume(from: ceiling) }
        let offset = try Meta.int(.clockOffset, in: db) ?? 0
        clockOffset.withLock { $0 = offset }
        let present = try FileOwner(in: db)
        owner.withLock { $0 = present }
        file.meet(version: version, ceiling: ceiling, at: correctedMilliseconds)
        try db.notifyChanges(in: .fullDatabase)
        return true
    }

    /// A stream with a notice when any process writes to the file. Nil if no other process may open the file.
    func fileNotices() -> AsyncStream<Void>? {
        dependencies.sharesFiles ? FileWatcher.notices(of: URL(filePath: file.path + "-wal")) : nil
    }
}
