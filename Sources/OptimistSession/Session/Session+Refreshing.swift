// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Logging
import OptimistCore

/// Renews the credentials, once for all processes that share them.
extension Session {
    func refresh(_ credentials: Credentials, _ stamp: Stamp) async {
        let event = await refreshed(credentials, stamp)
        logger.debug("refreshed", metadata: ["session.outcome": "\(event.outcome)"])
        run(core.handle(event))
    }

    private func refreshed(_ credentials: Credentials, _ stamp: Stamp) async -> SessionMachine.Event {
        let waited = Stopwatch(dependencies.clock)
        do {
            while true {
                let lease = try await vault.lease(at: dependencies.now())
                defer { lease?.end() }
                switch await standing(of: credentials, stamp) {
                case .settled(let event): return event
                case .due(let latest): if lease != nil { return try await asked(latest, stamp) }
                }
                // Another process of this app holds the lease and may finish soon.
                guard waited() < Self.longestWaitForOthers else { return .refreshFailed(stamp, retryAfter: nil) }
                try await dependencies.clock.sleep(for: .milliseconds(20))
            }
        } catch {
            return .refreshFailed(stamp, retryAfter: nil)
        }
    }

    private static let longestWaitForOthers = Duration.seconds(5)

    private enum Standing {
        /// Another process has already renewed the tokens or ended the session.
        case settled(SessionMachine.Event)
        /// These are the latest tokens, and they must be renewed.
        case due(Credentials)
    }

    private func standing(of credentials: Credentials, _ stamp: Stamp) async -> Standing {
        switch await vault.fate(of: credentials) {
        case .kept: .due(credentials)
        case .renewed(let newer):
            TokenLife(credentials: newer, stamp: stamp).isDue(at: serverTime.now)
                ? .due(newer) : .settled(.refreshed(stamp, newer))
        case .ended(let reason): .settled(.ended(stamp, reason))
        }
    }

    private func asked(_ credentials: Credentials, _ stamp: Stamp) async throws -> SessionMachine.Event {
        let exchange = configuration.refresh ?? .oauth(at: configuration.endpoints.token)
        let answer = try await ask(try exchange.request(credentials))
        if answer.head.status.kind == .successful, let grant = exchange.grant(answer.body) {
            let next = grant.successor(of: credentials, time: serverTime)
            // Stored before use: if storing fails, the old token can be presented again.
            switch try await vault.save(next, after: credentials, as: stamp.next) {
            case .kept: return .refreshed(stamp, next)
            case .renewed(let newer): return .refreshed(stamp, newer)
            case .ended(let reason): return .ended(stamp, reason)
            }
        }
        if case .ended(let reason) = configuration.responseRules.refresh(answer.head, answer.body) {
            // A process that does not use leases may have been faster.
            switch await standing(of: credentials, stamp) {
            case .settled(let event): return event
            case .due(credentials): return .ended(stamp, reason)
            case .due(let latest): return try await asked(latest, stamp)
            }
        }
        return .refreshFailed(stamp, retryAfter: answer.head.retryAfter(now: serverTime.now))
    }

    /// Returns the event for an answer that ends the session. If another process of the app has signed in again on this
    /// device, its stored credentials are still valid and are used instead. Nil: the token is no longer in use, so the
    /// current one must be tried.
    func ended(_ stamp: Stamp, _ reason: SignOutReason) async -> SessionMachine.Event? {
        guard let credentials = core.credentials(of: stamp) else { return nil }
        guard case .renewed(let newer) = await vault.fate(of: credentials) else { return .ended(stamp, reason) }
        return .refreshed(stamp, newer)
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
