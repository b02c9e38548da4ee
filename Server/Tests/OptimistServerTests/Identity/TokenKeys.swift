// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL
import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// A private key of the file identity-keys.json, for tests only.
struct TokenKey: Sendable {
    let name: String
    let publicKey: JSONObject
    private let secret: [UInt8]

    static let all: [String: TokenKey] = {
        do {
            let file = try fixture("identity-keys")
            let keys = try #require(try JSON(parsing: Data(contentsOf: file))["keys"]?.array)
            return Dictionary(uniqueKeysWithValues: try keys.map(TokenKey.init).map { ($0.name, $0) })
        } catch {
            Issue.record(error)
            return [:]
        }
    }()

    static func named(_ name: String) throws -> TokenKey { try #require(all[name]) }

    static func fixture(_ name: String) throws -> URL {
        try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Fixtures"))
    }

    private init(_ json: JSON) throws {
        name = try #require(json["name"]?.string)
        publicKey = try #require(json["public"]?.object)
        secret = try #require(json["private"]?.string.flatMap(Base64URL.decode))
    }

    /// The public key as a member of a set.
    ///
    /// - Parameter more: Replaces members. Null removes one.
    func json(id: String?, algorithm: String?, _ more: JSONObject = [:]) -> JSON {
        var key = publicKey
        if let id { key["kid"] = .string(id) }
        if let algorithm { key["alg"] = .string(algorithm) }
        for (name, value) in more { key[name] = value.isNull ? JSON?.none : value }
        return .object(key)
    }

    /// Signs with SHA-256, or with Ed25519.
    func sign(_ bytes: [UInt8], isPSS: Bool = false) throws -> [UInt8] {
        var place: UnsafePointer<UInt8>?
        let key = try secret.withUnsafeBufferPointer { bytes in
            place = bytes.baseAddress
            return try #require(d2i_AutoPrivateKey(nil, &place, bytes.count))
        }
        defer { EVP_PKEY_free(key) }
        let context = try #require(EVP_MD_CTX_new())
        defer { EVP_MD_CTX_free(context) }
        var details: OpaquePointer?
        let hash = publicKey["kty"] == "OKP" ? nil : EVP_sha256()
        try #require(EVP_DigestSignInit(context, &details, hash, nil, key) == 1)
        if isPSS {
            try #require(EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1)
            try #require(EVP_PKEY_CTX_set_rsa_pss_saltlen(details, 32) == 1)
        }
        var count = 0
        try #require(EVP_DigestSign(context, nil, &count, bytes, bytes.count) == 1)
        var signature = [UInt8](repeating: 0, count: count)
        try #require(EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1)
        signature.removeLast(signature.count - count)
        return publicKey["kty"] == "EC"
            ? try Self.raw(signature, bytes: publicKey["crv"] == "P-256" ? 32 : 48) : signature
    }

    /// The two numbers of an ECDSA signature, which OpenSSL writes as DER.
    private static func raw(_ signature: [UInt8], bytes: Int) throws -> [UInt8] {
        var rest = signature.dropFirst(signature[1] >= 0x80 ? 3 : 2)
        func number() throws -> [UInt8] {
            let count = Int(try #require(rest.dropFirst().first))
            let digits = rest.dropFirst(2).prefix(count).drop { $0 == 0 }
            rest = rest.dropFirst(2 + count)
            return [UInt8](repeating: 0, count: bytes - digits.count) + digits
        }
        return try number() + number()
    }
}

/// A token in the making. A valid one unless a test changes it.
struct DraftToken: Sendable {
    var header: JSONObject
    var claims: JSONObject
    /// Nil: the bytes of the claims.
    var payload: [UInt8]?
    var key: TokenKey
    var isPSS = false
    /// Signs with HMAC instead of the key.
    var secret: [UInt8]?

    static let now = 1_800_000_000.0
    static let issuer = "https://issuer.example.org"

    init(_ key: TokenKey, algorithm: String, id: String? = nil, _ claims: JSONObject = [:]) {
        self.key = key
        header = ["alg": .string(algorithm), "typ": "JWT"]
        if let id { header["kid"] = .string(id) }
        isPSS = algorithm == "PS256"
        self.claims = [
            "iss": .string(Self.issuer), "sub": "user-1", "aud": "app", "exp": .int(Int64(Self.now) + 600),
            "iat": .int(Int64(Self.now) - 5),
        ]
        set(claims)
    }

    /// Null removes a claim.
    mutating func set(_ changes: JSONObject) {
        for (name, value) in changes { claims[name] = value.isNull ? JSON?.none : value }
    }

    var signed: String {
        let payload = payload ?? JSON.object(claims).bytes
        return "\(Base64URL.encode(JSON.object(header).bytes)).\(Base64URL.encode(payload))"
    }

    func text() throws -> String {
        let signed = signed
        let signature =
            try secret.map { HMACSHA256.code(for: signed.utf8, key: SecretKey($0)) }
            ?? key.sign(Array(signed.utf8), isPSS: isPSS)
        return "\(signed).\(Base64URL.encode(signature))"
    }
}
