// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

#if canImport(CryptoKit)
    import CryptoKit
#else
    import CLibCrypto
#endif

/// The name by which the server knows an installation.
enum InstallationName {
    /// Returns the first 16 bytes of the SHA-256 hash of the salt and the id, in base64url. The hash does not reveal
    /// the id, and differs between apps on one device.
    static func of(_ installation: UUID, salt: String) -> String {
        let id = withUnsafeBytes(of: installation.uuid) { Data($0) }
        return Base64URL.encode(Array(hash(Data(salt.utf8) + id).prefix(16)))
    }

    private static func hash(_ bytes: Data) -> [UInt8] {
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
