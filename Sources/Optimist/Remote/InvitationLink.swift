// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
@_spi(Internals) package import OptimistWire

/// A link that admits people to a space. It is as secret as a password.
///
/// The secret is in the URL's fragment, which browsers send to no server.
public struct InvitationLink: Sendable, Hashable, CustomStringConvertible {
    public let space: UUID
    package let secret: InvitationSecret

    init(space: UUID, secret: InvitationSecret) {
        self.space = space
        self.secret = secret
    }

    init?(space: UUID, secret: [UInt8]) {
        guard let secret = InvitationSecret(bytes: secret) else { return nil }
        self.init(space: space, secret: secret)
    }

    /// Reads a link from ``url(at:)``. Nil for another URL.
    public init?(_ url: URL) {
        guard url.path().hasSuffix("/join"), let code = url.fragment() else { return nil }
        self.init(code: code)
    }

    /// Reads a ``code``. Nil for another text.
    public init?(code: String) {
        guard let bytes = Base64URL.decode(code), bytes.count == 16 + InvitationSecret.byteCount,
            let space = UUIDForm.bytes.wire(Data(bytes.prefix(16)).databaseValue).flatMap(UUID.init)
        else { return nil }
        self.init(space: space, secret: Array(bytes.dropFirst(16)))
    }

    /// The link as a code of 64 characters, to be pasted into the app.
    public var code: String {
        let space = withUnsafeBytes(of: space.uuid) { Array($0) }
        return Base64URL.encode(space + secret.bytes)
    }

    /// The link as a URL.
    ///
    /// - Parameter host: Where your app's universal links lead, such as `https://example.org`.
    public func url(at host: URL) -> URL {
        var link = URLComponents(url: host.appending(path: "join"), resolvingAgainstBaseURL: false) ?? URLComponents()
        link.fragment = code
        return link.url ?? host
    }

    /// Does not contain the secret.
    public var description: String { "(invitation to \(space))" }
}
