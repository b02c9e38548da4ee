// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire
import Synchronization

/// Hashes passwords with scrypt, on threads of its own: one takes a quarter of a second and 32 MB.
final class Passwords: Sendable {
    /// How much work a hash is. It is stored beside each, so that raising it later leaves the old ones readable.
    struct Cost: Sendable, Hashable {
        /// A power of two.
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// The work that is left of a cost after this one. Nil: none, or their rounds or blocks differ.
        func rest(to cost: Cost) -> Cost? {
            guard rounds == cost.rounds, blockSize == cost.blockSize, parallelism < cost.parallelism else { return nil }
            return Cost(rounds: rounds, blockSize: blockSize, parallelism: cost.parallelism - parallelism)
        }

        /// > Source: OWASP Password Storage Cheat Sheet, 2025: scrypt with N = 2^15, r = 8 and p = 3 or equivalent.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 3)
        /// For tests only.
        static let trivial = Cost(rounds: 16, blockSize: 1, parallelism: 1)

        /// The standard. In a debug build under test it is the trivial cost: tests sign in hundreds of times.
        static let ofThisProcess: Cost = {
            #if DEBUG
                let form = ProcessInfo.processInfo.environment["OPTIMIST_TESTS"] ?? ""
                if ["short", "full", "soak"].contains(form) { return .trivial }
            #endif
            return .standard
        }()
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
            let numbers = "\(cost.rounds)$\(cost.blockSize)$\(cost.parallelism)"
            return "scrypt$\(numbers)$\(Base64URL.encode(salt))$\(Base64URL.encode(key))"
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
            let isRight = isEqualInConstantTime(try Self.derive(password, parts.salt, parts.cost), parts.key)
            if let rest = parts.cost.rest(to: cost) { _ = try Self.derive(password, parts.salt, rest) }
            return isRight
        }
    }

    /// Early versions stored no parallelism. It was 1.
    private static func parts(of stored: String) -> (cost: Cost, salt: [UInt8], key: [UInt8])? {
        let parts = stored.split(separator: "$").map(String.init)
        guard parts.first == "scrypt", 5...6 ~= parts.count, let salt = Base64URL.decode(parts[parts.count - 2]),
            let key = Base64URL.decode(parts[parts.count - 1])
        else { return nil }
        let numbers = parts[1..<parts.count - 2].compactMap { Int($0) }
        guard numbers.count == parts.count - 3 else { return nil }
        let cost = Cost(
            rounds: numbers[0], blockSize: numbers[1], parallelism: numbers.count == 3 ? numbers[2] : 1)
        return (cost, salt, key)
    }

    private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        try Scrypt.key(
            from: Array(password.utf8), salt: salt, byteCount: 32, rounds: cost.rounds, blockSize: cost.blockSize,
            parallelism: cost.parallelism)
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
