// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// HMAC with SHA-256, computed by OpenSSL. A code has 32 bytes.
///
/// > Source: RFC 2104; OpenSSL, "HMAC".
package enum HMACSHA256 {
    package static func code(for bytes: some Sequence<UInt8>, key: SecretKey) -> [UInt8] {
        OpenSSL.prepare()
        return OpenSSL.hash { code in
            withContiguousBytes(bytes) { bytes in
                HMAC(EVP_sha256(), key.bytes, Int32(key.bytes.count), bytes.baseAddress, bytes.count, code, nil) != nil
            }
        }
    }

    /// Compares in constant time.
    static func isValid(_ code: [UInt8], for bytes: some Sequence<UInt8>, key: SecretKey) -> Bool {
        isEqualInConstantTime(code, self.code(for: bytes, key: key))
    }
}
