// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// A public key that checks signatures, or the secret of an HMAC. OpenSSL does the arithmetic.
///
/// Each case has one algorithm, so a signature cannot choose another. SHA-256 is the hash of all but Ed25519.
enum SignatureKey: Sendable {
    /// PKCS #1 version 1.5.
    case rsa(modulus: [UInt8], exponent: [UInt8])
    /// PSS, with a salt as long as the hash.
    case rsaPSS(modulus: [UInt8], exponent: [UInt8])
    /// The coordinates of a point on the curve P-256, 32 bytes each.
    case p256(x: [UInt8], y: [UInt8])
    /// 32 bytes.
    case ed25519([UInt8])
    case hmac(SecretKey)

    /// Whether OpenSSL accepts the key, for example because the point is on the curve.
    var isSound: Bool {
        if case .hmac = self { return true }
        return withPublicKey { _ in true } ?? false
    }

    func isValid(_ signature: [UInt8], for bytes: some Sequence<UInt8>) -> Bool {
        if case .hmac(let secret) = self { return HMACSHA256.isValid(signature, for: bytes, key: secret) }
        guard let signature = encoded(signature) else { return false }
        let isValid = withPublicKey { key in
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            var details: OpaquePointer?
            guard EVP_DigestVerifyInit(context, &details, hash, nil, key) == 1, configure(details) else { return false }
            return withContiguousBytes(bytes) {
                EVP_DigestVerify(context, signature, signature.count, $0.baseAddress, $0.count) == 1
            }
        }
        // The reason of a failure stays in the thread's queue otherwise.
        ERR_clear_error()
        return isValid ?? false
    }

    /// Ed25519 hashes the message itself.
    private var hash: OpaquePointer? {
        if case .ed25519 = self { nil } else { EVP_sha256() }
    }

    private func configure(_ details: OpaquePointer?) -> Bool {
        guard case .rsaPSS = self else { return true }
        return EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(details, Int32(SHA256.byteCount)) == 1
    }

    /// The signature as OpenSSL reads it. Nil if it has a wrong length.
    ///
    /// > Source: RFC 7518 §3.3 and §3.4; RFC 8037 §3.1.
    private func encoded(_ signature: [UInt8]) -> [UInt8]? {
        switch self {
        case .rsa(let modulus, _), .rsaPSS(let modulus, _):
            return signature.count == modulus.count ? signature : nil
        case .p256:
            guard signature.count == 64 else { return nil }
            return DER.sequence(DER.integer(signature.prefix(32)) + DER.integer(signature.suffix(32)))
        case .ed25519: return signature.count == 64 ? signature : nil
        case .hmac: return nil
        }
    }

    /// Nil if OpenSSL refuses the key.
    private func withPublicKey<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
        OpenSSL.prepare()
        guard let key = publicKey() else {
            ERR_clear_error()
            return nil
        }
        defer { EVP_PKEY_free(key) }
        return body(key)
    }

    private func publicKey() -> OpaquePointer? {
        if case .ed25519(let bytes) = self { return EVP_PKEY_new_raw_public_key(NID_ED25519, nil, bytes, bytes.count) }
        guard let info = publicKeyInfo else { return nil }
        return info.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            return d2i_PUBKEY(nil, &place, bytes.count)
        }
    }

    /// A SubjectPublicKeyInfo.
    ///
    /// > Source: RFC 3279 §2.3.1, RFC 5480 §2.
    private var publicKeyInfo: [UInt8]? {
        switch self {
        case .rsa(let modulus, let exponent), .rsaPSS(let modulus, let exponent):
            let key = DER.sequence(DER.integer(modulus) + DER.integer(exponent))
            return DER.sequence(DER.sequence(DER.rsaEncryption + DER.null) + DER.bits(key))
        case .p256(let x, let y):
            guard x.count == 32, y.count == 32 else { return nil }
            return DER.sequence(DER.sequence(DER.ecPublicKey + DER.prime256v1) + DER.bits([4] + x + y))
        case .ed25519, .hmac: return nil
        }
    }
}

/// The parts of DER that keys and signatures need.
///
/// > Source: ITU-T X.690 §8 and §10.
private enum DER {
    static let null: [UInt8] = [0x05, 0x00]
    static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    static let prime256v1: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    static func bits(_ content: [UInt8]) -> [UInt8] { element(0x03, [0] + content) }

    /// An unsigned number, most significant byte first.
    static func integer(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return element(0x02, (digits.first ?? 0x80) >= 0x80 ? [0] + digits : digits)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let digits = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(digits.count)] + digits
    }
}
