// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// Codes of 32 bytes that only who has the key can make or check: HMAC with SHA-256, as OpenSSL has it.
///
/// > Source: RFC 2104; OpenSSL, "HMAC".
enum HMACSHA256 {
    static func code(for bytes: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { code, count in
            count = withContiguousBytes(bytes) { bytes in
                HMAC(EVP_sha256(), key, Int32(key.count), bytes.baseAddress, bytes.count, code.baseAddress, nil) == nil
                    ? 0 : SHA256.byteCount
            }
            precondition(count > 0, "There is no memory, or OpenSSL was built without SHA-256.")
        }
    }

    /// Whether a code belongs to the bytes. Takes as long for every wrong one of its length.
    static func isValid(_ code: [UInt8], for bytes: some Sequence<UInt8>, key: [UInt8]) -> Bool {
        isEqualInConstantTime(code, self.code(for: bytes, key: key))
    }
}
