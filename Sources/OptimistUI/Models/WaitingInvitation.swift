// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistSession

/// A link that was opened while the user was signed out. It waits for the next sign-in on this device, at most a day.
struct WaitingInvitation: Codable, Sendable, Hashable {
    private let code: String
    private let openedAt: Date

    private static let lifetime: TimeInterval = 24 * 3600

    init(_ invitation: OpenedInvitation, at now: Date) {
        code = invitation.link.code
        openedAt = now
    }

    /// The invitation to ask about after signing in. Nil: a day has passed, or the clock was set back.
    func opened(at now: Date) -> OpenedInvitation? {
        guard (openedAt...openedAt + Self.lifetime).contains(now) else { return nil }
        return InvitationLink(code: code).map(OpenedInvitation.init(link:))
    }
}

/// Keeps the invitation that waits, also while the app does not run. The link is a secret, so it is in the keychain.
struct InvitationKeeper: Sendable {
    var read: @Sendable () throws -> Data?
    /// Nil deletes the data.
    var write: @Sendable (Data?) throws -> Void

    func keep(_ invitation: OpenedInvitation, at now: Date) throws {
        try write(JSONEncoder().encode(WaitingInvitation(invitation, at: now)))
    }

    /// Returns the invitation that waits, once.
    func take(at now: Date) -> OpenedInvitation? {
        guard let data = try? read() else { return nil }
        try? write(nil)
        return (try? JSONDecoder().decode(WaitingInvitation.self, from: data))?.opened(at: now)
    }

    #if canImport(Security)
        static let keychain: InvitationKeeper = {
            let (keychain, name) = (Keychain(service: "optimist.invitation"), "waiting")
            return InvitationKeeper(
                read: { try keychain.read(name) },
                write: { data in
                    if let data { try keychain.write(name, data) } else { try keychain.delete(name) }
                })
        }()
    #endif
}
