// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(CryptoKit)
    import CryptoKit
#else
    import CLibCrypto
#endif

/// SHA-256, computed by the system's library.
///
/// > Source: FIPS 180-4.
@_spi(Internals) public enum SHA256Hash {
    /// Returns the 32 bytes of the hash.
    public static func of(_ bytes: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
            Array(SHA256.hash(data: bytes))
        #else
            bytes.withUnsafeBytes { bytes in
                [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
                    let isDone =
                        EVP_Digest(bytes.baseAddress, bytes.count, hash.baseAddress, nil, EVP_sha256(), nil) == 1
                    precondition(isDone, "Out of memory, or OpenSSL was built without SHA-256.")
                    count = 32
                }
            }
        #endif
    }
}
