// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServing
import OptimistWire

extension RequestProblem {
    /// What a client hears when the database could not do its part: nothing was stored, and the same may work later.
    init(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_FULL:
            self.init(
                type: "about:blank", status: 503,
                detail: "The server's disk is full. Nothing was stored: try again later.")
        case .SQLITE_IOERR:
            self.init(
                type: "about:blank", status: 503,
                detail: "The server's disk fails at this moment. Nothing was stored: try again later.")
        default:
            self.init(type: "about:blank", status: 503, detail: "The data cannot be reached at this moment.")
        }
    }
}

extension DatabaseError {
    /// After how many seconds to try again. Room on a disk is made by people.
    var retryAfterSeconds: Int { resultCode == .SQLITE_FULL ? 30 : 5 }
}

extension OptimistError {
    /// Opens the files of a data directory, and says what to do when its disk has no room for that or fails.
    ///
    /// - Throws: `OptimistError` with code `diskTrouble`, or what the work throws.
    static func explainingDisk<Value>(of directory: URL, _ work: () throws -> Value) throws -> Value {
        do { return try work() } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw full(directory, error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_IOERR {
            throw OptimistError(
                .diskTrouble,
                """
                \(directory.path) cannot be read or written: the disk fails, or the process may write no larger files \
                (ulimit -f). Nothing is lost: start again when that is mended.
                """, cause: error)
        } catch let error as POSIXError where [.ENOSPC, .EDQUOT, .EFBIG].contains(error.code) {
            throw full(directory, error)
        }
    }

    private static func full(_ directory: URL, _ cause: any Error) -> OptimistError {
        OptimistError(
            .diskTrouble,
            "There is no room on the disk of \(directory.path). Nothing is lost: make room, and start again.",
            remedy: .freeSpace, cause: cause)
    }
}
