// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// SHA-256, computed by OpenSSL.
///
/// > Source: FIPS 180-4; OpenSSL, "EVP_DigestInit".
package struct SHA256: ~Copyable {
    static let byteCount = 32
    private let context: OpaquePointer

    package init() {
        OpenSSL.prepare()
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure(OpenSSL.lacksSHA256)
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let isDone = withContiguousBytes(bytes) { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
        precondition(isDone, OpenSSL.lacksSHA256)
    }

    package consuming func finish() -> [UInt8] {
        OpenSSL.hash { EVP_DigestFinal_ex(context, $0, nil) == 1 }
    }

    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}

/// Copies the bytes only if necessary.
func withContiguousBytes<Result>(
    _ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}

extension Sequence<UInt8> {
    /// Two lower-case digits for each byte.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef")
        return String(flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
