// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Holds the machine and its waiting requests under one lock. Decisions are made inside the lock, and effects run
/// outside.
final class SessionCore: Sendable {
    private struct Shared {
        var machine: SessionMachine
        var stateVersion = 1
        var lastRequest = 0
        var entrances: [RequestID: CheckedContinuation<Binding, any Error>] = [:]
        /// Stops the requests of an ended session.
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

    /// Registers a logical request in the current epoch.
    ///
    /// - Parameter interrupt: Called once, with the reason, if the session fails the request.
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

    /// Unregisters a logical request.
    ///
    /// - Returns: The errands, and the error if the session has failed the request. An answer that arrived just before
    ///   is then discarded.
    func leave(_ id: RequestID) -> (failure: OptimistError?, errands: [SessionMachine.Errand]) {
        var failure: SessionMachine.Failure?
        let (_, errands) = handle(.left(id)) { shared in
            if shared.interrupts.removeValue(forKey: id) == nil { failure = shared.machine.endOfEarlierEpochs }
            return true
        }
        return (failure?.error, errands)
    }

    func credentials(of stamp: Stamp) -> Credentials? { shared.withLock { $0.machine.credentials(of: stamp) } }

    /// Passes an event to the machine, wakes the affected requests and returns the errands to run.
    func handle(_ event: SessionMachine.Event) -> [SessionMachine.Errand] {
        handle(event) { _ in true }.errands
    }

    /// Ends the session at the user's request. Returns the new epoch.
    func signOut() -> (epoch: Int, errands: [SessionMachine.Errand]) {
        handle(.signedOut) { _ in true }
    }

    /// Waits until a request may be sent, and returns its token.
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

    /// Stores the running refresh, or the wait for the next one, so that signing out can cancel it. If the session has
    /// already ended, cancels it now.
    func keep(_ refresh: Task<Void, Never>, for stamp: Stamp) {
        let isWanted = shared.withLock { shared in
            let isWanted = shared.machine.credentials(of: stamp) != nil
            if isWanted { shared.refresh = refresh }
            return isWanted
        }
        if !isWanted { refresh.cancel() }
    }

    /// - Parameter begin: Runs first, under the same lock. Returns whether to handle the event.
    /// - Returns: The errands, and the epoch right after the event. Later reads may see a newer epoch.
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
                .credentialsLocked, "The credentials cannot be read until the device is unlocked.",
                remedy: .retry(after: .seconds(10)))
        }
    }
}
