// This source file is part of the Optimist open source project, under the MIT licence.

import COpenSSL

/// The key derivation function scrypt, computed by OpenSSL. It needs a lot of memory, which makes guessing expensive.
///
/// > Source: RFC 7914; OpenSSL, "EVP_PBE_scrypt".
enum Scrypt {
    /// The cost is not valid, or there is not enough memory.
    struct Failure: Error {}

    /// - Parameters:
    ///   - rounds: N. A power of two.
    ///   - blockSize: r.
    ///   - parallelism: p.
    static func key(
        from password: [UInt8], salt: [UInt8], byteCount: Int, rounds: Int, blockSize: Int, parallelism: Int
    ) throws -> [UInt8] {
        guard let rounds = UInt64(exactly: rounds), let blockSize = UInt64(exactly: blockSize),
            let parallelism = UInt64(exactly: parallelism),
            let memory = memory(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        else { throw Failure() }
        OpenSSL.prepare()
        return try [UInt8](unsafeUninitializedCapacity: byteCount) { key, count in
            let isDone = password.withUnsafeBytes { password in
                EVP_PBE_scrypt(
                    password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count, rounds,
                    blockSize, parallelism, memory, key.baseAddress, byteCount)
            }
            guard isDone == 1 else {
                // Otherwise libpq would report this error as its own.
                ERR_clear_error()
                throw Failure()
            }
            count = byteCount
        }
    }

    /// An upper bound in bytes. Nil on overflow.
    private static func memory(rounds: UInt64, blockSize: UInt64, parallelism: UInt64) -> UInt64? {
        let (blocks, isTooMuch) = rounds.addingReportingOverflow(parallelism + 4)
        let (memory, isMore) = blocks.multipliedReportingOverflow(by: 128 * min(blockSize, 1 << 32))
        return isTooMuch || isMore ? nil : memory
    }
}
