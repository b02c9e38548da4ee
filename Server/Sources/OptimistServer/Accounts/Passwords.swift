// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
import CryptoExtras
import Foundation
import OptimistWire
import Synchronization

/// Hashes passwords with scrypt, on threads of its own: one takes tens of milliseconds and 32 MB.
final class Passwords: Sendable {
    /// How much work a hash is. It is stored beside each, so that raising it later leaves the old ones readable.
    struct Cost: Sendable, Hashable {
        /// A power of two.
        var rounds: Int
        var blockSize: Int

        /// > Source: OWASP Password Storage Cheat Sheet, 2025: scrypt with N = 2^15, r = 8 and p = 3 or equivalent.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8)
        /// For tests only.
        static let trivial = Cost(rounds: 16, blockSize: 1)
    }

    /// More are waiting than will be served soon.
    struct Busy: Error {}

    private let cost: Cost
    private let queue: OperationQueue
    private let waiting = Mutex(0)
    private static let maxWaiting = 64

    init(cost: Cost) {
        self.cost = cost
        queue = OperationQueue()
        queue.name = "optimist.passwords"
        queue.maxConcurrentOperationCount = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
    }

    /// Returns what to store for a password.
    func hash(_ password: String) async throws -> String {
        let salt = randomBytes(16)
        let cost = cost
        return try await onQueue {
            let key = try Self.derive(password, salt, cost)
            return "scrypt$\(cost.rounds)$\(cost.blockSize)$\(Base64URL.encode(salt))$\(Base64URL.encode(key))"
        }
    }

    /// Whether a password is the stored one. Without a stored one the answer is no, after the same work.
    func verify(_ password: String, against stored: String?) async throws -> Bool {
        let cost = cost
        return try await onQueue {
            guard let stored, let parts = Self.parts(of: stored) else {
                _ = try Self.derive(password, randomBytes(16), cost)
                return false
            }
            return isEqualInConstantTime(try Self.derive(password, parts.salt, parts.cost), parts.key)
        }
    }

    private static func parts(of stored: String) -> (cost: Cost, salt: [UInt8], key: [UInt8])? {
        let parts = stored.split(separator: "$").map(String.init)
        guard parts.count == 5, parts[0] == "scrypt", let rounds = Int(parts[1]), let blockSize = Int(parts[2]),
            let salt = Base64URL.decode(parts[3]), let key = Base64URL.decode(parts[4])
        else { return nil }
        return (Cost(rounds: rounds, blockSize: blockSize), salt, key)
    }

    private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: salt, outputByteCount: 32, rounds: cost.rounds, blockSize: cost.blockSize,
            parallelism: 1
        ).withUnsafeBytes { Array($0) }
    }

    private func onQueue<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let mayWait = waiting.withLock { count in
            defer { count += count < Self.maxWaiting ? 1 : 0 }
            return count < Self.maxWaiting
        }
        guard mayWait else { throw Busy() }
        defer { waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            queue.addOperation { continuation.resume(with: Result { try work() }) }
        }
    }
}

/// Bytes from the system's secure source.
func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

/// Compares without saying by its duration where the difference is.
func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
}
