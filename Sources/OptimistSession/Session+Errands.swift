// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Logging
import OptimistCore

/// What the machine asks to be run. Each errand ends in one event, or in none.
extension Session {
    func run(_ errands: [SessionMachine.Errand]) {
        for errand in errands {
            switch errand {
            case .restore:
                _ = surroundings.spawn { await self.restore() }
            case .refresh(let stamp, let credentials):
                core.keep(refresh: surroundings.spawn { await self.refresh(credentials, stamp) })
            case .wait(let stamp, let delay):
                core.keep(refresh: surroundings.spawn { await self.wait(delay, stamp) })
            case .erase(let epoch):
                _ = surroundings.spawn { await self.erase(upTo: epoch) }
            case .revoke(let credentials):
                _ = surroundings.spawn { await self.revoke(credentials) }
            }
        }
    }

    private func restore() async {
        do {
            let credentials = try await vault.load()
            if let credentials, credentials.origin != Origin(server)?.description {
                run(core.handle(.restoreFailed(.otherServer)))
            } else {
                run(core.handle(.restored(credentials)))
            }
        } catch let error as OptimistError where error.code == .credentialsLocked {
            run(core.handle(.locked))
        } catch {
            logger.info("credentials cannot be read", metadata: ["error": "\(error)"])
            run(core.handle(.restoreFailed(.credentialsUnreadable)))
        }
    }

    private func refresh(_ credentials: Credentials, _ stamp: Stamp) async {
        let event = await refreshed(credentials, stamp)
        logger.debug("refreshed", metadata: ["session.outcome": "\(event.outcome)"])
        run(core.handle(event))
    }

    private func refreshed(_ credentials: Credentials, _ stamp: Stamp) async -> SessionMachine.Event {
        do {
            guard let lease = try await lease(unlessRenewed: credentials) else {
                // Another process of this app has it, and has renewed nothing yet.
                return .refreshFailed(stamp, retryAfter: nil)
            }
            defer { lease.end() }
            return try await renewed(credentials, stamp)
        } catch {
            return .refreshFailed(stamp, retryAfter: nil)
        }
    }

    /// Another process may have been faster: its tokens are as good as ours would be, unless they have ended meanwhile.
    private func renewed(_ credentials: Credentials, _ stamp: Stamp) async throws -> SessionMachine.Event {
        guard let kept = await successor(of: credentials) else { return try await asked(credentials, stamp) }
        return try await adopted(kept, stamp)
    }

    private func adopted(_ kept: Credentials, _ stamp: Stamp) async throws -> SessionMachine.Event {
        let isDue = TokenLife(credentials: kept, stamp: stamp).isDue(at: serverTime.now)
        return isDue ? try await asked(kept, stamp) : .refreshed(stamp, kept)
    }

    private func asked(_ credentials: Credentials, _ stamp: Stamp) async throws -> SessionMachine.Event {
        let form = Form([("grant_type", "refresh_token"), ("refresh_token", credentials.refreshToken.exposed)])
        let answer = try await ask(configuration.endpoints.token, .form, form.bytes)
        if answer.head.status.kind == .successful, let grant = TokenGrant(answer.body) {
            let next = grant.successor(of: credentials, now: serverTime.now)
            // Stored before anything uses it (T9): if storing fails, the old token may be presented again (T10).
            _ = try await vault.save(next, as: stamp.next)
            return .refreshed(stamp, next)
        }
        if answer.head.status.kind != .successful,
            case .ended(let reason) = configuration.answers.ofRefresh(answer.head, answer.body)
        {
            // A process that knows nothing of leases may have been faster.
            guard let kept = await successor(of: credentials) else { return .ended(stamp, reason) }
            return try await adopted(kept, stamp)
        }
        return .refreshFailed(stamp, retryAfter: answer.head.retryAfter(now: serverTime.now))
    }

    /// Waits until no other process renews the credentials, or has done so.
    private func lease(unlessRenewed credentials: Credentials) async throws -> CredentialLease? {
        let waited = Stopwatch(surroundings.clock)
        while true {
            if let lease = try await vault.lease(at: surroundings.now()) { return lease }
            if await successor(of: credentials) != nil { return CredentialLease() }
            guard waited() < Self.longestWaitForOthers else { return nil }
            try await surroundings.clock.sleep(for: .milliseconds(20))
        }
    }

    private static let longestWaitForOthers = Duration.seconds(5)

    /// What another process has kept since. Nil: nothing.
    private func successor(of credentials: Credentials) async -> Credentials? {
        guard let kept = try? await vault.load(), kept.refreshToken != credentials.refreshToken,
            kept.origin == credentials.origin, kept.account == credentials.account
        else { return nil }
        return kept
    }

    private func wait(_ delay: Duration, _ stamp: Stamp) async {
        // Cancelled with the session, and then nobody waits any more.
        guard (try? await surroundings.clock.sleep(for: delay)) != nil else { return }
        run(core.handle(.pauseEnded(stamp)))
    }

    private func erase(upTo epoch: Int) async {
        do {
            try await vault.erase(upTo: epoch)
        } catch {
            logger.info("credentials cannot be erased", metadata: ["error": "\(error)"])
        }
    }

    /// Tells the server, once. If that fails the token ends by itself in time.
    private func revoke(_ credentials: Credentials) async {
        let form = Form([("token", credentials.refreshToken.exposed), ("token_type_hint", "refresh_token")])
        let status = try? await ask(configuration.endpoints.revoke, .form, form.bytes).head.status.code
        logger.debug("revoked", metadata: ["http.status": "\(status ?? 0)"])
    }
}

extension SessionMachine.Event {
    fileprivate var outcome: String {
        switch self {
        case .refreshed: "renewed"
        case .ended(_, let reason): "ended: \(reason)"
        default: "postponed"
        }
    }
}
