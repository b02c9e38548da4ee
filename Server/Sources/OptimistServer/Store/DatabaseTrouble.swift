// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import GRDB
import OptimistCore
import OptimistServing
import OptimistWire

extension DatabaseError: StorageFailure {
    package var detail: String {
        switch resultCode {
        case .SQLITE_FULL: "The server's disk is full. Nothing was stored: try again later."
        case .SQLITE_IOERR: "The server's disk fails at this moment. Nothing was stored: try again later."
        default: "The data cannot be reached at this moment."
        }
    }

    /// If the disk is full, an operator has to make room, so a client waits longer.
    package var retryAfterSeconds: Int { resultCode == .SQLITE_FULL ? 30 : 5 }

    package var code: (name: String, value: String) { ("sqlite.code", "\(extendedResultCode.rawValue)") }
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
