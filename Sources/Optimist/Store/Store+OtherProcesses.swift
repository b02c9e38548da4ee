// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Synchronization

extension Store {
    var file: URL { URL(filePath: pool.path) }

    /// How often others have committed since the connection was opened, as far as it can see now.
    static func dataVersion(_ db: Database) throws -> Int64 {
        try RowStatement("PRAGMA data_version", in: db).first([]) { $0.int(0) } ?? 0
    }

    /// Looks, at the start of a transaction, for what other processes have committed: live queries are told of it, and
    /// the next stamp will be later than theirs.
    ///
    /// - Returns: Whether there was anything.
    func meetOthers(_ file: inout SharedFile, capture: CaptureContext, in db: Database) throws -> Bool {
        let version = try Self.dataVersion(db)
        if version == file.version { return false }
        let ceiling = Stamp(rawValue: try Meta.int(.stampCeiling, in: db) ?? 0)
        // A ceiling never falls, unless a clock that had run far ahead began again (M4).
        if ceiling < file.ceiling { capture.restart(at: ceiling) } else { capture.resume(from: ceiling) }
        let offset = try Meta.int(.clockOffset, in: db) ?? 0
        clockOffset.withLock { $0 = offset }
        let present = try FileOwner(in: db)
        owner.withLock { $0 = present }
        file.meet(version: version, ceiling: ceiling, at: correctedMilliseconds)
        try db.notifyChanges(in: .fullDatabase)
        return true
    }

    /// Notices of writes to the file by any process. Nil: no other process may have it open.
    func fileNotices() -> AsyncStream<Void>? {
        surroundings.sharesFiles ? FileNotices.notices(of: URL(filePath: file.path + "-wal")) : nil
    }
}
