// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
@_spi(Internals) package import OptimistServing
@_spi(Internals) import OptimistWire

/// Lets a program of the operator read and write rows. The server stores only the hash of the key's text.
package struct ServiceKey: Codable, Hashable, Sendable {
    package enum Scope: String, Codable, Sendable, CaseIterable {
        case read, write
    }

    /// The first half of the hash, in hexadecimal digits. It is not secret.
    package var id: String
    package var name: String
    package var hash: Data
    package var scope: Scope
    /// The types of the rows. Nil: all.
    package var types: [String]?
    /// The ids of persons' accounts. Nil: all.
    package var accounts: [String]?
    /// The accounts of spaces. Nil: all.
    package var spaces: [String]?
    /// In seconds since 1970.
    package var createdAt: Double
    /// In seconds since 1970. Nil: never.
    package var expiresAt: Double?
    /// In seconds since 1970. Nil: the key is not revoked.
    package var revokedAt: Double?

    package func isValid(at time: Double) -> Bool {
        revokedAt == nil && expiresAt.map { time < $0 } ?? true
    }

    package var reader: ServiceReader {
        ServiceReader(
            key: id, mayWrite: scope == .write, types: types.map { Set($0) }, accounts: accounts.map { Set($0) },
            spaces: spaces.map { Set($0) })
    }
}

/// A key as it is stored, with its last use, which may be up to a minute later.
package struct StoredServiceKey: Hashable, Sendable {
    package var key: ServiceKey
    /// In seconds since 1970. Nil: never used.
    package var usedAt: Double?

    package init(key: ServiceKey, usedAt: Double?) {
        self.key = key
        self.usedAt = usedAt
    }

    /// Nil if a later version of the server wrote the key in another form.
    package init?(json: String, usedAt: String?) {
        guard let key = try? JSONDecoder().decode(ServiceKey.self, from: Data(json.utf8)) else { return nil }
        self.init(key: key, usedAt: usedAt.flatMap(Double.init))
    }
}

/// The text of a service key: 256 random bits after a prefix that secret scanners recognise.
package struct ServiceKeySecret: Sendable {
    package let text: String

    private static let prefix = "optk_"

    package init() { text = Self.prefix + Base64URL.encode(randomBytes(32)) }

    /// Nil if the text is not a well-formed key.
    init?(_ text: String) {
        guard Self.isOne(text), Base64URL.decode(String(text.dropFirst(Self.prefix.count)))?.count == 32 else {
            return nil
        }
        self.text = text
    }

    /// Whether a token claims to be a service key.
    static func isOne(_ token: String) -> Bool { token.hasPrefix(prefix) }

    var hash: [UInt8] { SHA256.hash(text.utf8) }

    var id: String { hash.prefix(16).hexadecimal }
}
