// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession
import Synchronization

/// Reports changes of a phone's session, and remembers its last sign-out across crashes.
final class SessionDiary: Sendable {
    struct SignOut: Sendable, Equatable {
        var reason: SignOutReason
        var at: Date
    }

    private let signOut = Mutex<SignOut?>(nil)

    /// The last sign-out since the lab started, even after a new sign-in.
    var lastSignOut: SignOut? { signOut.withLock(\.self) }

    func follow(_ states: SessionStates, _ news: NewsDesk) async {
        var before = SessionState.restoring
        for await state in states {
            if case .signedOut(let reason) = state, reason != .neverSignedIn {
                signOut.withLock { $0 = SignOut(reason: reason, at: Date()) }
            }
            if let line = Self.line(from: before, to: state) { news.tell(.session, line) }
            before = state
            news.changed(.device, .status, .session)
        }
    }

    /// Returns the timeline's text for a change of state, if any.
    static func line(from before: SessionState, to state: SessionState) -> String? {
        switch (before, state) {
        case (_, .signedOut(let reason)): "signed out: \(reason)"
        case (_, .degraded): "got no new token"
        case (.refreshing(let former), .active(let account)) where former == account: "got a new token"
        case (.degraded(let former, _), .active(let account)) where former == account: nil
        case (_, .active) where before != state: "signed in"
        default: nil
        }
    }
}
