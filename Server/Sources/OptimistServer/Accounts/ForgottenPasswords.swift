// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import Logging
import ServiceLifecycle

/// A token that lets its owner choose a new password once. Deliver it to the address only.
public struct PasswordReset: Hashable, Sendable, Codable {
    /// The email address of the account.
    public let email: String
    /// Secret. The app sends it to `POST /auth/reset-password` with the new password.
    public let token: String
    /// When the token expires, an hour after it was made.
    public let expiresAt: Date
}

/// A queue of addresses whose owners forgot their passwords.
///
/// The request is answered before the account is looked up, so neither the answer nor its duration reveals whether the
/// account exists. When a hundred requests wait, further requests are dropped; their senders can ask again.
final class ForgottenPasswords: Sendable {
    let emails: AsyncStream<String>
    private let queue: AsyncStream<String>.Continuation

    init() { (emails, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(100)) }

    func add(_ email: String) { queue.yield(email) }
}

struct ResetDelivery: Service {
    let forgetful: ForgottenPasswords
    let accounts: Accounts
    let deliver: @Sendable (PasswordReset) async throws -> Void
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await email in forgetful.emails { await answer(email) }
        }
    }

    private func answer(_ email: String) async {
        do {
            if let reset = try await accounts.makeReset(email: email) { try await deliver(reset) }
        } catch is CancellationError {
        } catch {
            logger.error("A reset token could not be delivered", metadata: ["error": "\(error)"])
        }
    }
}
