// This source file is part of the Optimist open source project, under the MIT licence.

import Logging

extension SyncEngine {
    /// Asks the server for the contents of an invitation, to show them before the person joins.
    ///
    /// Works for people who are signed out, and while the engine is not running. The person does not become a member,
    /// and the link is not used up. Without an answer, it returns within 30 seconds.
    ///
    /// - Parameter link: The link that the person opened.
    /// - Returns: The contents, or why there are none.
    /// - Throws: `CancellationError` only.
    public nonisolated func preview(of link: InvitationLink) async throws -> InvitationCheck {
        do {
            return try await remote.preview(of: link).map(InvitationCheck.open) ?? .notValid
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            logger.info("sync.invitation.failed", metadata: ["failure": "\(error)"])
            return .unknown
        }
    }
}
