// This source file is part of the Optimist open source project, under the MIT licence.

/// The secret of a link that invites people to a space: 32 random bytes. Whoever has it may join.
///
/// The invitation's row has only the hash, so that a copy of the server's data, or a member who reads the row, cannot
/// make the link.
@_spi(Internals) public struct InvitationSecret: Hashable, Sendable {
    public static let byteCount = 32
    public let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Makes a new secret from the system's random numbers, which cannot be guessed.
    public static func random() -> InvitationSecret {
        var system = SystemRandomNumberGenerator()
        return InvitationSecret((0..<byteCount).map { _ in system.next() })
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the wire form, base64url without padding.
    public init?(_ text: String) {
        guard text.utf8.count == 43, let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The wire form, for the link and for the member row of the person who joins.
    public var text: String { Base64URL.encode(bytes) }

    /// The value of the invitation's column `hash`: the SHA-256 hash in base64url.
    public var hash: String { Base64URL.encode(hashBytes) }

    public var hashBytes: [UInt8] { SHA256Hash.of(bytes) }
}

extension InvitationSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Does not contain the secret, so that no log does.
    public var description: String { "(secret)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
