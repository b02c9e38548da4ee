// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// UUIDs of version 5, which are derived from names: equal names have equal UUIDs.
///
/// > Source: RFC 9562, 5.5.
struct NameUUID: Sendable {
    private let namespace: [UInt8]

    private static let hashBytes = 20

    /// - Parameter namespace: The 16 bytes of the namespace's UUID.
    init(namespace: [UInt8]) { self.namespace = namespace }

    /// Returns a lower-case UUID.
    func uuid(of name: some Sequence<UInt8>) -> String {
        var bytes = Array(Self.sha1(namespace + name).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// SHA-1 is only a way to spread names here: it protects nothing.
    private static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        OpenSSL.prepare()
        return [UInt8](unsafeUninitializedCapacity: hashBytes) { hash, count in
            let isDone = bytes.withUnsafeBufferPointer { bytes in
                EVP_Digest(bytes.baseAddress, bytes.count, hash.baseAddress, nil, EVP_sha1(), nil) == 1
            }
            precondition(isDone, "OpenSSL could not compute SHA-1: it was built without it, or the memory is full.")
            count = hashBytes
        }
    }
}
