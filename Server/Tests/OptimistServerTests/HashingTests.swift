// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistServer

/// Hashes made with OpenSSL, compared with published examples.
@Suite(.timeLimit(.minutes(20)))
struct HashingTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// > Source: NIST, "Secure Hash Standard (SHS) Examples"; FIPS 180-2, appendix B.3.
    @Test func `SHA-256 of nothing, three letters, and a million in pieces equals the published digests`() {
        #expect(hex(SHA256.hash([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex(SHA256.hash("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        var hash = SHA256()
        for _ in 0..<1000 { hash.update(repeatElement(UInt8(ascii: "a"), count: 1000)) }
        #expect(hex(hash.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    /// > Source: RFC 4231 §4.2, §4.3 and §4.7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC equals the published codes, and no other code, text or key is valid`(
        key: [UInt8], text: String, code: String
    ) {
        let (key, other) = (SecretKey(key), SecretKey(key + [1]))
        let made = HMACSHA256.code(for: text.utf8, key: key)
        #expect(hex(made) == code)
        #expect(HMACSHA256.isValid(made, for: text.utf8, key: key))
        #expect(!HMACSHA256.isValid(Array(made.dropLast()), for: text.utf8, key: key))
        #expect(!HMACSHA256.isValid(made, for: "\(text).".utf8, key: key))
        #expect(!HMACSHA256.isValid(made, for: text.utf8, key: other))
    }

    @Test func `no description shows a key, not even the description of its container`() throws {
        let keys = try ServerKeys(secret: ServerKeys.make())
        var dumped = ""
        dump(keys, to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), dumped, "\(keys.access)"] {
            #expect(text.contains("a key of 32 bytes"))
            #expect(
                !text.contains("\(keys.access.bytes[0]), \(keys.access.bytes[1])")
                    && !text.contains("- \(keys.access.bytes[0])"))
        }
    }

    /// > Source: RFC 7914 §12.
    @Test func `scrypt equals the published keys, even beyond OpenSSL's default of 32 MB`() throws {
        let nothing = try Scrypt.key(from: [], salt: [], byteCount: 64, rounds: 16, blockSize: 1, parallelism: 1)
        #expect(hex(nothing).hasPrefix("77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"))
        let key = try Scrypt.key(
            from: Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8), byteCount: 64, rounds: 16_384,
            blockSize: 8, parallelism: 1)
        #expect(hex(key).hasPrefix("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"))
        #expect(
            try Scrypt.key(from: [1], salt: [2], byteCount: 32, rounds: 1 << 15, blockSize: 8, parallelism: 3).count
                == 32)
    }

    @Test(arguments: [(0, 8, 1), (3, 8, 1), (-16, 8, 1), (16, 0, 1), (16, 8, 0), (.max, .max, 1), (16, .max, .max)])
    func `an invalid scrypt cost is an error`(rounds: Int, blockSize: Int, parallelism: Int) {
        #expect(throws: Scrypt.Failure.self) {
            try Scrypt.key(
                from: [1], salt: [2], byteCount: 32, rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        }
    }
}
