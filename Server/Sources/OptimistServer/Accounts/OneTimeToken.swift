// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
@_spi(Internals) import OptimistWire

/// A single-use token of 256 random bits: an invitation to sign up, or permission to choose a new password. The
/// database stores only its hash.
package struct OneTimeToken: Hashable, Sendable {
    package enum Purpose: String, Sendable {
        case invitation = "i1"
        case reset = "p1"
    }

    package let text: String
    /// Empty for an invitation.
    package let account: String

    package init(for purpose: Purpose, account: String = "") {
        self.account = account
        text = "\(purpose.rawValue).\(account).\(Base64URL.encode(randomBytes(32)))"
    }

    /// Returns nil if the token is malformed. A well-formed token may still be unknown to this server.
    init?(_ text: String, for purpose: Purpose) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let parts = trimmed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == purpose.rawValue, trimmed.utf8.count < 300, parts[1].isPlainID else {
            return nil
        }
        self.text = trimmed
        account = String(parts[1])
    }

    package var hash: Data { Data(SHA256.hash(text.utf8)) }
}
