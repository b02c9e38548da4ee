// This source file is part of the Optimist open source project, under the MIT licence.

/// How a provider signs identity tokens.
///
/// > Source: RFC 7518 §3.1, RFC 8037 §3.1.
public enum IdentityAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    /// With Ed25519.
    case edDSA = "EdDSA"
    /// With a secret that the provider and the server share.
    case hs256 = "HS256"

    /// Also reads `Ed25519`, the newer name (RFC 9864).
    init?(name: String) {
        guard let algorithm = Self(rawValue: name == "Ed25519" ? "EdDSA" : name) else { return nil }
        self = algorithm
    }
}
