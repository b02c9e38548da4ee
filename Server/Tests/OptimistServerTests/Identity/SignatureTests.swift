// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Signatures of tokens: published examples, and signatures that must not pass.
@Suite(.timeLimit(.minutes(20)))
struct SignatureTests {
    private static let algorithms = Set(IdentityAlgorithm.allCases)

    private func isValid(_ token: String, with json: JSON) -> Bool {
        // The examples do not have the payload of a token, so this takes them apart as SignedToken does.
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ try? JSON(parsing: $0) }),
            Base64URL.decode(parts[1]) != nil, let signature = Base64URL.decode(parts[2]), header["crit"] == nil,
            let algorithm = header["alg"]?.string.flatMap(IdentityAlgorithm.init(name:))
        else { return false }
        let secret = json["kty"] == "oct" ? json["k"]?.string.flatMap(Base64URL.decode) : nil
        let key =
            secret.map { VerificationKey(secret: SecretKey($0)) } ?? VerificationKey(json: json, for: Self.algorithms)
        guard let key, key.algorithm == algorithm, key.id == nil || header["kid"].map({ $0.string == key.id }) ?? true
        else { return false }
        return key.isValid(signature, for: "\(parts[0]).\(parts[1])".utf8)
    }

    /// > Source: RFC 7515 appendix A, RFC 7520 §4, RFC 8037 appendix A.4.
    @Test func `I1 the examples of the standards verify, and no changed one does`() throws {
        let vectors = try #require(JSON(parsing: Data(contentsOf: TokenKey.fixture("jws-vectors")))["vectors"]?.array)
        #expect(vectors.count == 10)
        for vector in vectors {
            let (key, token) = (try #require(vector["key"]), try #require(vector["token"]?.string))
            let source = vector["source"]?.string ?? ""
            #expect(isValid(token, with: key) == vector["isValid"]?.bool, "\(source)")
            let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let signature = try #require(Base64URL.decode(parts[2]))
            for index in stride(from: 0, to: signature.count, by: 7) {
                var changed = signature
                changed[index] ^= 1
                let text = "\(parts[0]).\(parts[1]).\(Base64URL.encode(changed))"
                #expect(!isValid(text, with: key), "\(source), byte \(index)")
            }
            for signature in [[], signature + [0], signature.dropLast(), [0] + signature] {
                #expect(!isValid("\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))", with: key), "\(source)")
            }
            #expect(!isValid("\(parts[0]).\(parts[1])A.\(parts[2])", with: key), "\(source)")
            #expect(!isValid("\(parts[0]).WG9v.\(parts[2])", with: key), "\(source)")
        }
    }

    /// The files are in the sources of swift-crypto, beside this package's build.
    ///
    /// > Source: Project Wycheproof, ed25519_test.json and ecdsa_secp256r1_sha256_p1363_test.json.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: Self.wycheproof.path)))
    func `I1 each signature vector of Wycheproof has the expected verdict`() throws {
        var count = 0
        for name in ["ed25519_test", "ecdsa_secp256r1_sha256_p1363_test"] {
            let file = try JSON(parsing: Data(contentsOf: Self.wycheproof.appending(path: "\(name).json")))
            for group in file["testGroups"]?.array ?? [] {
                let json = try #require(group["publicKeyJwk"])
                let key = try #require(VerificationKey(json: json, for: Self.algorithms))
                for test in group["tests"]?.array ?? [] {
                    let isValid = key.isValid(bytes(test["sig"]), for: bytes(test["msg"]))
                    #expect(isValid == (test["result"] == "valid"), "\(name), \(test["tcId"] ?? .null)")
                    count += 1
                }
            }
        }
        #expect(count > 300)
    }

    private static let wycheproof = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.build/checkouts/swift-crypto/Tests/Test Vectors").standardizedFileURL

    private func bytes(_ hex: JSON?) -> [UInt8] {
        let digits = (hex?.string ?? "").compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    /// > Source: Project Wycheproof, json_web_signature_test.json. Set OPTIMIST_WYCHEPROOF to a file of its form.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["OPTIMIST_WYCHEPROOF"] != nil))
    func `I1 each JWS vector of a Wycheproof file has the expected verdict`() throws {
        let path = try #require(ProcessInfo.processInfo.environment["OPTIMIST_WYCHEPROOF"])
        let file = try JSON(parsing: Data(contentsOf: URL(filePath: path)))
        var count = 0
        for group in file["testGroups"]?.array ?? [] {
            let key = try #require(group["public"] ?? group["private"])
            let known = key["alg"]?.string.map { IdentityAlgorithm(name: $0) != nil } ?? true
            for test in group["tests"]?.array ?? [] {
                let isAccepted = isValid(test["jws"]?.string ?? "", with: key)
                let mayPass = known && test["result"] != "invalid"
                #expect(isAccepted ? mayPass : !(known && test["result"] == "valid"), "\(test["tcId"] ?? .null)")
                count += 1
            }
        }
        #expect(count > 0)
    }

    @Test(arguments: [("rsa", "RS256"), ("rsa", "PS256"), ("p256", "ES256"), ("ed25519", "EdDSA")])
    func `I1 a signature passes with its own key and algorithm only`(name: String, algorithm: String) throws {
        let token = try DraftToken(.named(name), algorithm: algorithm).text()
        var passing: [String] = []
        for key in TokenKey.all.values {
            for algorithm in ["RS256", "PS256", "ES256", "EdDSA", "HS256", "RS512", "none"]
            where isValid(token, with: key.json(id: nil, algorithm: algorithm)) {
                passing.append("\(key.name) \(algorithm)")
            }
        }
        #expect(passing == ["\(name) \(algorithm)"])
    }

    @Test func `I1 an ECDSA signature with a zero, or one in DER, does not pass`() throws {
        let key = try TokenKey.named("p256")
        let draft = DraftToken(key, algorithm: "ES256")
        let zero = [UInt8](repeating: 0, count: 32)
        let genuine = try key.sign(Array(draft.signed.utf8))
        for signature in [zero + zero, zero + genuine.suffix(32), genuine.prefix(32) + zero] {
            #expect(!isValid("\(draft.signed).\(Base64URL.encode(signature))", with: key.json(id: nil, algorithm: nil)))
        }
    }

    @Test func `I1 weak, unsound and foreign keys of a set are not used`() throws {
        let (rsa, p256, ed25519) = (
            try TokenKey.named("rsa"), try TokenKey.named("p256"), try TokenKey.named("ed25519")
        )
        let bad: [JSON] = [
            try TokenKey.named("weakRSA").json(id: "a", algorithm: "RS256"),
            try TokenKey.named("p384").json(id: "a", algorithm: "ES384"),
            try TokenKey.named("p384").json(id: "a", algorithm: nil),
            rsa.json(id: "a", algorithm: "RS512"), rsa.json(id: "a", algorithm: "HS256"),
            rsa.json(id: "a", algorithm: "RS256", ["use": "enc"]), rsa.json(id: "a", algorithm: nil, ["use": 1]),
            rsa.json(id: "a", algorithm: "RS256", ["key_ops": ["sign"]]), rsa.json(id: "a", algorithm: nil, ["alg": 1]),
            rsa.json(id: "a", algorithm: "RS256", ["e": "AQ"]), rsa.json(id: "a", algorithm: "RS256", ["e": "Ag"]),
            rsa.json(id: "a", algorithm: "RS256", ["n": .null]), rsa.json(id: "a", algorithm: "ES256"),
            rsa.json(id: "a", algorithm: "RS256", ["n": .string(String(repeating: "A", count: 342))]),
            p256.json(id: "a", algorithm: "ES256", ["y": p256.publicKey["x"] ?? .null]),
            p256.json(id: "a", algorithm: "ES256", ["x": "AA"]), p256.json(id: "a", algorithm: "RS256"),
            p256.json(id: "a", algorithm: "ES256", ["crv": "secp256k1"]),
            ed25519.json(id: "a", algorithm: "EdDSA", ["crv": "X25519"]),
            [
                "kty": "oct",
                "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
            ],
            "key", .null,
        ]
        for json in bad { #expect(VerificationKey(json: json, for: Self.algorithms) == nil, "\(json)") }
        let set: JSON = ["keys": .array(bad + [rsa.json(id: "good", algorithm: nil, ["use": "sig"])])]
        let keys = try #require(VerificationKey.keys(set.bytes, for: Self.algorithms))
        #expect(keys.map(\.id) == ["good"] && keys.map(\.algorithm) == [.rs256])
        #expect(VerificationKey(json: rsa.json(id: nil, algorithm: nil), for: [.ps256])?.algorithm == .ps256)
        #expect(VerificationKey(json: rsa.json(id: nil, algorithm: "PS256"), for: [.rs256]) == nil)
        #expect(VerificationKey(json: ed25519.json(id: nil, algorithm: "Ed25519"), for: [.edDSA]) != nil)
    }

    @Test func `I4 a set that is too large or not a set is not read`() {
        let key: JSON = ["kty": "EC"]
        func read(_ bytes: [UInt8]) -> Int? { VerificationKey.keys(bytes, for: Self.algorithms)?.count }
        #expect(read(JSON.object(["keys": []]).bytes) == nil)
        #expect(read(JSON.object(["keys": [key]]).bytes) == nil, "no usable key")
        #expect(read(JSON.object(["keys": .array(Array(repeating: key, count: 101))]).bytes) == nil)
        #expect(read(JSON.object(["keys": [], "more": .string(String(repeating: "a", count: 256_000))]).bytes) == nil)
        for text in ["", "[]", "{}", "<html>", #"{"keys": {}}"#, #"{"keys": [], "keys": []}"#] {
            #expect(read(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
