// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// A refresh token, derived from its session, its number and the server's key.
///
/// The same session and number always give the same token, so a lost answer can be repeated. A copy of the database
/// does not contain a usable token: making one requires the server's key, which is in a separate file, and the
/// session's salt from the database.
struct RefreshToken: Hashable, Sendable {
    var account: String
    var session: String
    var number: Int
    private var signature: [UInt8]

    init(_ record: SessionRecord, number: Int, key: SecretKey) {
        account = record.account
        session = record.id
        self.number = number
        signature = []
        signature = HMACSHA256.code(for: signed(salt: record.salt), key: key)
    }

    /// Returns nil if the token is malformed. Check it with ``isGenuine(for:key:)``.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "r1", let number = Int(parts[3]), text.utf8.count < 300,
            parts[1].isPlainID, parts[2].isPlainID,
            let signature = Base64URL.decode(String(parts[4]))
        else { return nil }
        account = String(parts[1])
        session = String(parts[2])
        self.number = number
        self.signature = signature
    }

    /// Whether the token belongs to the session. Compares the signature in constant time.
    func isGenuine(for record: SessionRecord, key: SecretKey) -> Bool {
        record.account == account && record.id == session
            && HMACSHA256.isValid(signature, for: signed(salt: record.salt), key: key)
    }

    private func signed(salt: [UInt8]) -> [UInt8] { "\(account).\(session).\(number).".utf8 + salt }

    var text: String { "r1.\(account).\(session).\(number).\(Base64URL.encode(signature))" }
}

extension Substring {
    var isPlainID: Bool {
        utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
    }
}
