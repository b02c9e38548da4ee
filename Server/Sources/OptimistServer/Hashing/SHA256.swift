// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// The hash function SHA-256, as OpenSSL has it. Its result has 32 bytes.
///
/// > Source: FIPS 180-4; OpenSSL, "EVP_DigestInit".
package struct SHA256: ~Copyable {
    static let byteCount = 32
    private let context: OpaquePointer

    /// Begins the hash of bytes that come in pieces.
    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("There is no memory, or OpenSSL was built without SHA-256.")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: some Sequence<UInt8>) {
        withContiguousBytes(bytes) { _ = EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    package consuming func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { hash, count in
            _ = EVP_DigestFinal_ex(context, hash.baseAddress, nil)
            count = Self.byteCount
        }
    }

    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}

/// Lends bytes that lie one after the other. Copies them only if they do not yet.
func withContiguousBytes<Result>(
    _ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
