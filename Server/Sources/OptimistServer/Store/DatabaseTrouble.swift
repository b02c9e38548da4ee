// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import GRDB
import OptimistCore
import OptimistServing
import OptimistWire

extension DatabaseError: StorageFailure {
    package var detail: String {
        switch resultCode {
        case .SQLITE_FULL: "The server's disk is full. Nothing was stored. Try again later."
        case .SQLITE_IOERR: "The server's disk is failing. Nothing was stored. Try again later."
        default: "The server's data is not available at the moment."
        }
    }

    /// A full disk needs an operator, so the client waits longer.
    package var retryAfterSeconds: Int { resultCode == .SQLITE_FULL ? 30 : 5 }

    package var code: (name: String, value: String) { ("sqlite.code", "\(extendedResultCode.rawValue)") }
}

extension OptimistError {
    /// Turns a full or failing disk into an error that says what to do.
    ///
    /// - Throws: `OptimistError` with code `diskTrouble`, or the error of `work`.
    static func explainingDisk<Value>(of directory: URL, _ work: () throws -> Value) throws -> Value {
        do { return try work() } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw full(directory, error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_IOERR {
            throw OptimistError(
                .diskTrouble,
                """
                \(directory.path) cannot be read or written: the disk is failing, or a file reached the \
                process's size limit (ulimit -f). No data was lost. Fix this and start again.
                """, cause: error)
        } catch let error as POSIXError where [.ENOSPC, .EDQUOT, .EFBIG].contains(error.code) {
            throw full(directory, error)
        }
    }

    private static func full(_ directory: URL, _ cause: any Error) -> OptimistError {
        OptimistError(
            .diskTrouble,
            "The disk of \(directory.path) is full. No data was lost. Free some space and start again.",
            remedy: .freeSpace, cause: cause)
    }
}
