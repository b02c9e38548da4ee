// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

extension SyncMachine.Failure {
    init(_ error: any Error) {
        switch error {
        case let failure as RemoteFailure: self.init(failure)
        case let error as OptimistError where [.damagedMetadata, .invalidTable].contains(error.code):
            self = .fatal(error.message)
        case let error as OptimistError where error.code == .otherAccount:
            self = .paused(PauseReason(.otherAccount, error.message))
        case let error as DatabaseError where Self.isDamage(error.resultCode):
            self = .fatal("The database cannot be read (\(error.resultCode)). Nothing was deleted.")
        case let error as DatabaseError: self = .device(Self.message(of: error.resultCode))
        default: self = .transient
        }
    }

    private static func message(of code: ResultCode) -> String {
        switch code {
        case .SQLITE_FULL: "This device's disk is full. Free some space, and sync resumes automatically."
        case .SQLITE_BUSY, .SQLITE_LOCKED: "The database is busy. Sync retries automatically."
        default: "This device's disk cannot be read or written (\(code)). Sync retries automatically."
        }
    }

    /// Whether no retry can succeed: the file is damaged, or is not a database of this library (V4).
    private static func isDamage(_ code: ResultCode) -> Bool {
        code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB || code == .SQLITE_ERROR
    }

    private init(_ failure: RemoteFailure) {
        switch failure {
        case .notSent, .unreachable, .withheld, .noSnapshots, .cursorLost, .forked, .accessEnded,
            .spaceNotFound:
            self = .transient
        case .throttled(let wait): self = .throttled(wait)
        case .signedOut(let reason): self = .signedOut(PauseReason(.signedOut, reason))
        case .forbidden(let reason): self = .paused(PauseReason(.accountRefused, reason))
        case .tooLarge(let isProtocolLimit): self = .tooLarge(isProtocolLimit: isProtocolLimit)
        case .refused: self = .refused
        case .pushRewound: self = .pushRewound
        case .protocolError(let message): self = .protocolError(message)
        case .noPokes: self = .noPokes
        }
    }
}
