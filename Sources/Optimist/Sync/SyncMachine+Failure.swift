// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension SyncMachine.Failure {
    /// What an error of the remote or of the store means for the decision.
    init(_ error: any Error) {
        switch error {
        case let failure as RemoteFailure: self.init(failure)
        case let error as OptimistError where error.code == .damagedMetadata: self = .fatal(error.message)
        case let error as OptimistError where error.code == .otherAccount: self = .paused(error.message)
        default: self = .transient
        }
    }

    private init(_ failure: RemoteFailure) {
        switch failure {
        case .notSent, .unreachable: self = .transient
        case .throttled(let wait): self = .throttled(wait)
        case .signedOut(let reason), .forbidden(let reason): self = .paused(reason)
        case .tooLarge(let isProtocolLimit): self = .tooLarge(isProtocolLimit: isProtocolLimit)
        case .refused: self = .refused
        case .pushRewound: self = .pushRewound
        case .cursorLost: self = .cursorLost
        case .protocolError(let message): self = .protocolError(message)
        case .noPokes: self = .noPokes
        }
    }
}
