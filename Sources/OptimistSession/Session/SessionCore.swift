// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Holds the machine under one lock, with the requests that wait for it. It decides inside the lock and acts outside.
final class SessionCore: Sendable {
    private struct Shared {
        var machine: SessionMachine
        var stateVersion = 1
        var lastRequest = 0
        var entrances: [RequestID: CheckedContinuation<Binding, any Error>] = [:]
        /// What stops the requests whose session has ended.
        var interrupts: [RequestID: @Sendable (any Error) -> Void] = [:]
        var refresh: Task<Void, Never>?
    }

    let states: Newest<SessionState>
    private let shared: Mutex<Shared>
    private let now: @Sendable () -> Date

    init(_ machine: SessionMachine, now: @escaping @Sendable () -> Date) {
        states = Newest(machine.state)
        shared = Mutex(Shared(machine: machine))
        self.now = now
    }

    var stamp: Stamp { shared.withLock { $0.machine.stamp } }

    func reserveEpoch() -> Int { shared.withLock { $0.machine.reserveEpoch() } }

    /// Begins a logical request. It belongs to the present epoch.
    ///
    /// - Parameter interrupt: Called once if the session fails the request, with the reason.
    func arrive(
        in lane: SessionMachine.LaneName, _ urgency: SessionRequest.Urgency,
        interrupt: @escaping @Sendable (any Error) -> Void
    ) -> RequestID {
        shared.withLock { shared in
            shared.lastRequest += 1
            _ = shared.machine.handle(.arrived(shared.lastRequest, lane, urgency), now: now())
            shared.interrupts[shared.lastRequest] = interrupt
            return shared.lastRequest
        }
    }

    /// Ends a logical request.
    ///
    /// - Returns: Beside the errands, why the session has failed the request, if it has: then an answer that came just before
    ///   counts no more.
    func leave(_ id: RequestID) -> (failure: OptimistError?, errands: [SessionMachine.Errand]) {
        var failure: SessionMachine.Failure?
        let (_, errands) = handle(.left(id)) { shared in
            if shared.interrupts.removeValue(forKey: id) == nil { failure = shared.machine.endOfEarlierEpochs }
            return true
        }
        return (failure?.error, errands)
    }

    func credentials(of stamp: Stamp) -> Credentials? { shared.withLock { $0.machine.credentials(of: stamp) } }

    /// Tells the machine an event, wakes the requests that it concerns, and returns the errands to run.
    func handle(_ event: SessionMachine.Event) -> [SessionMachine.Errand] {
        handle(event) { _ in true }.errands
    }

    /// Ends the session on the person's wish. Returns the epoch that begins with it.
    func signOut() -> (epoch: Int, errands: [SessionMachine.Errand]) {
        handle(.signedOut) { _ in true }
    }

    /// Waits until a request may be sent, and returns the token to send it with.
    ///
    /// - Parameter run: Runs errands. Called before waiting.
    func enter(
        _ id: RequestID, refused: Stamp?, run: @Sendable ([SessionMachine.Errand]) -> Void
    ) async throws -> Binding {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { entrance in
                var isCancelled = false
                let (_, errands) = handle(.wants(id, refused: refused)) { shared in
                    isCancelled = Task.isCancelled
                    if !isCancelled { shared.entrances[id] = entrance }
                    return !isCancelled
                }
                if isCancelled { entrance.resume(throwing: CancellationError()) }
                run(errands)
            }
        } onCancel: {
            shared.withLock { $0.entrances.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Keeps the refresh that is under way, or the wait for the next one, so that signing out can cancel it. If that has come
    /// first, it is cancelled now.
    func keep(_ refresh: Task<Void, Never>, for stamp: Stamp) {
        let isWanted = shared.withLock { shared in
            let isWanted = shared.machine.credentials(of: stamp) != nil
            if isWanted { shared.refresh = refresh }
            return isWanted
        }
        if !isWanted { refresh.cancel() }
    }

    /// - Parameter begin: Done first, under the same lock. Returns whether the event happens at all.
    /// - Returns: Beside the errands, the epoch right after the event: an instant later it may be another's.
    private func handle(
        _ event: SessionMachine.Event, _ begin: (inout Shared) -> Bool
    ) -> (epoch: Int, errands: [SessionMachine.Errand]) {
        var actions: [() -> Void] = []
        var errands: [SessionMachine.Errand] = []
        let epoch = shared.withLock { shared in
            guard begin(&shared) else { return shared.machine.epoch }
            let before = shared.machine.state
            for effect in shared.machine.handle(event, now: now()) {
                switch effect {
                case .grant(let id, let binding):
                    let entrance = shared.entrances.removeValue(forKey: id)
                    actions.append { entrance?.resume(returning: binding) }
                case .fail(let id, let failure):
                    let entrance = shared.entrances.removeValue(forKey: id)
                    let interrupt = shared.interrupts.removeValue(forKey: id)
                    actions.append {
                        interrupt?(failure.error)
                        entrance?.resume(throwing: failure.error)
                    }
                case .cancelRefresh:
                    let refresh = shared.refresh
                    shared.refresh = nil
                    actions.append { refresh?.cancel() }
                case .run(let errand):
                    errands.append(errand)
                }
            }
            let after = shared.machine.state
            guard after != before else { return shared.machine.epoch }
            shared.stateVersion += 1
            let version = shared.stateVersion
            actions.insert({ [states] in states.publish(after, version: version) }, at: 0)
            return shared.machine.epoch
        }
        for action in actions { action() }
        return (epoch, errands)
    }
}

extension SessionMachine.Failure {
    var error: OptimistError {
        switch self {
        case .signedOut(let reason): .signedOut(reason)
        case .postponed(let delay): .refreshPostponed(by: delay)
        case .refused: .credentialRefused
        case .locked:
            OptimistError(
                .credentialsLocked, "The credentials cannot be read before the device is unlocked.",
                remedy: .retry(after: .seconds(10)))
        }
    }
}
