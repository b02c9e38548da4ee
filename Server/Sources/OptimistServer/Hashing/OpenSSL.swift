// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// The library that hashes.
enum OpenSSL {
    static let lacksSHA256 = "There is no memory, or OpenSSL was built without SHA-256."

    private static let isPrepared: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Keeps the library usable until the process has ended: other threads may still hash while `exit` cleans up.
    static func prepare() { precondition(isPrepared, "OpenSSL does not start.") }

    /// Returns the bytes that `fill` writes. It stops the process if it cannot: a hash that was not made must not be used.
    static func hash(_ fill: (UnsafeMutablePointer<UInt8>?) -> Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { hash, count in
            precondition(fill(hash.baseAddress), lacksSHA256)
            count = SHA256.byteCount
        }
    }
}
