// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A provider's key, with the one algorithm that it is for.
///
/// > Source: RFC 7517 §4, RFC 7518 §6; RFC 8725 §3.1, on the algorithm.
struct VerificationKey: Sendable {
    /// Nil if the key has no id: then it checks tokens with any id.
    let id: String?
    let algorithm: IdentityAlgorithm
    private let key: SignatureKey

    /// The shared secret of a provider.
    init(secret: SecretKey) {
        (id, algorithm, key) = (nil, .hs256, .hmac(secret))
    }

    /// Reads a public key in JSON. Nil if it is of another kind, unsound, weak, not for signatures, or not for one of
    /// the algorithms.
    ///
    /// A symmetric key is never read: a set that everyone can fetch has no secrets.
    ///
    /// - Parameter algorithms: The algorithms that the provider may use. They choose between RS256 and PS256 if the key
    ///   does not name its own.
    init?(json: JSON, for algorithms: Set<IdentityAlgorithm>) {
        guard json["use"].map({ $0 == "sig" }) ?? true,
            json["key_ops"].map({ $0.array?.contains("verify") ?? false }) ?? true
        else { return nil }
        let named = json["alg"].map { $0.string.flatMap(IdentityAlgorithm.init(name:)) }
        // The key names an algorithm that the server does not know.
        if let named, named == nil { return nil }
        let fitting = Self.algorithms(of: json).filter { algorithms.contains($0) && (named ?? $0) == $0 }
        guard let algorithm = fitting.first, let key = Self.key(json, algorithm), key.isSound else { return nil }
        (id, self.algorithm, self.key) = (json["kid"]?.string, algorithm, key)
    }

    func isValid(_ signature: [UInt8], for bytes: some Sequence<UInt8>) -> Bool { key.isValid(signature, for: bytes) }

    /// The preferred algorithm first.
    private static func algorithms(of json: JSON) -> [IdentityAlgorithm] {
        switch (json["kty"]?.string, json["crv"]?.string) {
        case ("RSA", _): [.rs256, .ps256]
        case ("EC", "P-256"): [.es256]
        case ("OKP", "Ed25519"): [.edDSA]
        default: []
        }
    }

    private static func key(_ json: JSON, _ algorithm: IdentityAlgorithm) -> SignatureKey? {
        func bytes(_ name: String) -> [UInt8]? { json[name]?.string.flatMap(Base64URL.decode) }
        switch algorithm {
        case .rs256, .ps256:
            guard let modulus = bytes("n"), let exponent = bytes("e"), (256...1024).contains(modulus.count),
                modulus[0] >= 0x80, (1...8).contains(exponent.count), exponent.last.map({ $0 % 2 == 1 }) == true,
                exponent != [1]
            else { return nil }
            return algorithm == .rs256
                ? .rsa(modulus: modulus, exponent: exponent) : .rsaPSS(modulus: modulus, exponent: exponent)
        case .es256:
            guard let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32 else { return nil }
            return .p256(x: x, y: y)
        case .edDSA:
            guard let x = bytes("x"), x.count == 32 else { return nil }
            return .ed25519(x)
        case .hs256: return nil
        }
    }
}

extension VerificationKey {
    /// A set of keys has at most this many bytes and keys.
    static let maxSetBytes = 256_000
    static let maxKeys = 100

    /// Reads the usable keys of a set. Nil if there is none, or if the bytes are not a set of keys or too many.
    ///
    /// > Source: RFC 7517 §5.
    static func keys(_ bytes: [UInt8], for algorithms: Set<IdentityAlgorithm>) -> [VerificationKey]? {
        guard bytes.count <= maxSetBytes, let list = (try? JSON(parsing: bytes))?["keys"]?.array,
            list.count <= maxKeys
        else { return nil }
        let keys = list.compactMap { VerificationKey(json: $0, for: algorithms) }
        return keys.isEmpty ? nil : keys
    }
}
