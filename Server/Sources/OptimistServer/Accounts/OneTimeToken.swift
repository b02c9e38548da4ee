// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
@_spi(Internals) import OptimistWire

/// A token that works once: an invitation to sign up, or permission to choose a new password.
///
/// It is 256 random bits. The database keeps a hash of it, so a copy of the database contains no usable token.
package struct OneTimeToken: Hashable, Sendable {
    package enum Purpose: String, Sendable {
        case invitation = "i1"
        case reset = "p1"
    }

    /// What its owner is given.
    package let text: String
    /// Whose password it resets. Empty for an invitation.
    package let account: String

    /// Makes one.
    package init(for purpose: Purpose, account: String = "") {
        self.account = account
        text = "\(purpose.rawValue).\(account).\(Base64URL.encode(randomBytes(32)))"
    }

    /// Reads a presented token. Nil if it has not the form of one. It may still be unknown to this server.
    init?(_ text: String, for purpose: Purpose) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let parts = trimmed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == purpose.rawValue, trimmed.utf8.count < 300, parts[1].isPlainID else {
            return nil
        }
        self.text = trimmed
        account = String(parts[1])
    }

    /// The hash that is stored.
    package var hash: Data { Data(SHA256.hash(text.utf8)) }
}
