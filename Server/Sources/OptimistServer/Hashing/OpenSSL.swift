// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

enum OpenSSL {
    static let lacksSHA256 = "OpenSSL could not compute SHA-256: it was built without SHA-256, or the memory is full."

    private static let isPrepared: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Disables the library's cleanup at exit, because other threads may still hash at that time.
    static func prepare() { precondition(isPrepared, "OpenSSL could not be initialized.") }

    /// Returns the bytes that `fill` writes. If `fill` fails, the process stops, because a missing hash must not be
    /// used.
    static func hash(_ fill: (UnsafeMutablePointer<UInt8>?) -> Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { hash, count in
            precondition(fill(hash.baseAddress), lacksSHA256)
            count = SHA256.byteCount
        }
    }
}
