// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
package import OptimistServer
@_spi(Internals) import OptimistWire

/// Simulated Apple and Google accounts. Every person is signed in there already.
package struct SimulatedProviders: Sendable {
    private static let names = ["apple", "google"]
    private static let audience = "lab"

    /// The file with the secret that signs the tokens.
    let file: URL
    private let key: SecretKey

    /// Reads the secret, and makes it if the file is missing.
    ///
    /// - Throws: `OptimistError` if the file cannot be written or read.
    package init(at file: URL) throws {
        try PrivateFile.make(file, containing: ServerKeys.make())
        self.file = file
        key = SecretKey(Array(try String(contentsOf: file, encoding: .utf8).utf8))
    }

    /// For the servers.
    package var configuration: [IdentityProvider] {
        Self.names.map {
            IdentityProvider(
                name: $0, issuer: Self.issuer($0), audiences: [Self.audience], keys: .secret(file: file))
        }
    }

    private static func issuer(_ provider: String) -> String { "https://\(provider).example" }

    /// The token that a provider's dialog returns to the app, signed with HS256.
    ///
    /// > Source: RFC 7515; OpenID Connect Core 1.0 §2.
    ///
    /// - Parameter nonce: The app's nonce.
    /// - Throws: `OptimistError` with code `badLabRequest` if the provider is unknown.
    func token(of provider: String, for person: String, nonce: String, now: Date = Date()) throws -> String {
        guard Self.names.contains(provider) else {
            throw OptimistError(
                .badLabRequest, "The provider is one of \(Self.names.joined(separator: " and ")).")
        }
        let issued = Int64(now.timeIntervalSince1970)
        let claims: JSON = [
            "iss": .string(Self.issuer(provider)), "sub": .string(person), "aud": .string(Self.audience),
            "iat": .int(issued), "exp": .int(issued + 600), "nonce": .string(nonce), "jti": .string(UUID().uuidString),
        ]
        let header: JSON = ["alg": "HS256", "typ": "JWT"]
        let signed = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        return "\(signed).\(Base64URL.encode(HMACSHA256.code(for: signed.utf8, key: key)))"
    }
}

/// A file that only this user may read.
enum PrivateFile {
    /// Does nothing if the file exists.
    static func make(_ file: URL, containing text: String) throws {
        if FileManager.default.fileExists(atPath: file.path) { return }
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw OptimistError(.badLabData, "\(file.path) cannot be written.") }
    }
}
