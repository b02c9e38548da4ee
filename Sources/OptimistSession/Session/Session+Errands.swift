// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Logging
import OptimistCore

/// Runs the machine's errands. Each one ends in at most one event.
extension Session {
    func run(_ errands: [SessionMachine.Errand]) {
        for errand in errands {
            switch errand {
            case .restore:
                _ = dependencies.spawn { await self.restore() }
            case .refresh(let stamp, let credentials):
                core.keep(dependencies.spawn { await self.refresh(credentials, stamp) }, for: stamp)
            case .wait(let stamp, let delay):
                let clock = dependencies.clock
                let pause = dependencies.spawn { [weak self] in
                    // The sleep is cancelled only when the session ends. No request waits then.
                    guard (try? await clock.sleep(for: delay)) != nil, let self else { return }
                    run(core.handle(.pauseEnded(stamp)))
                }
                core.keep(pause, for: stamp)
            case .erase(let ended, let epoch):
                _ = dependencies.spawn { await self.erase(ended, upTo: epoch) }
            case .revoke(let credentials):
                _ = dependencies.spawn { await self.revoke(credentials) }
            }
        }
    }

    private func restore() async {
        do {
            let credentials = try await vault.restore()
            if let credentials, credentials.origin != Origin(server)?.description {
                run(core.handle(.restoreFailed(.otherServer)))
            } else {
                if let credentials { serverTime.recall(credentials.serverClockAhead) }
                run(core.handle(.restored(credentials)))
            }
        } catch let error as OptimistError where error.code == .credentialsLocked {
            run(core.handle(.locked))
        } catch {
            logger.info("credentials cannot be read", metadata: ["error": "\(error)"])
            run(core.handle(.restoreFailed(.credentialsUnreadable)))
        }
    }

    private func erase(_ ended: Credentials, upTo epoch: Int) async {
        do {
            try await vault.erase(ended, upTo: epoch)
        } catch {
            logger.info("credentials cannot be erased", metadata: ["error": "\(error)"])
        }
    }

    /// Revokes the token, in a single attempt. If that fails, the token simply expires.
    private func revoke(_ credentials: Credentials) async {
        let form = Form([("token", credentials.refreshToken.exposed), ("token_type_hint", "refresh_token")])
        let status = try? await ask(configuration.endpoints.revoke, .form, form.bytes).head.status.code
        logger.debug("revoked", metadata: ["http.status": "\(status ?? 0)"])
    }
}
