// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
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
