// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Synchronization

/// Hashes passwords with scrypt on separate threads. A hash takes a quarter of a second and 32 MB.
final class Passwords: Sendable {
    /// The cost is stored with each hash, so that old hashes stay valid when the cost is raised.
    struct Cost: Sendable, Hashable {
        /// A power of two.
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// Returns the remaining work up to a higher cost. Nil if there is none or if the rounds or block sizes differ.
        func rest(to cost: Cost) -> Cost? {
            guard rounds == cost.rounds, blockSize == cost.blockSize, parallelism < cost.parallelism else { return nil }
            return Cost(rounds: rounds, blockSize: blockSize, parallelism: cost.parallelism - parallelism)
        }

        /// > Source: OWASP Password Storage Cheat Sheet, 2025: scrypt with N = 2^15, r = 8 and p = 3 or equivalent.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 3)
        /// For tests only.
        static let trivial = Cost(rounds: 16, blockSize: 1, parallelism: 1)

        /// Trivial in a debug build under test, because tests sign in hundreds of times.
        static let ofThisProcess: Cost = {
            #if DEBUG
                let form = ProcessInfo.processInfo.environment["OPTIMIST_TESTS"] ?? ""
                if ["short", "full", "soak"].contains(form) { return .trivial }
            #endif
            return .standard
        }()
    }

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

    /// Returns the text to store. The password is hashed in Unicode normal form C, because keyboards may encode the
    /// same letters differently.
    ///
    /// > Source: NIST SP 800-63B-4 §3.1.1.2; RFC 8265 §4.2.2.
    func hash(_ password: String) async throws -> String {
        let salt = randomBytes(16)
        let cost = cost
        return try await onQueue {
            let key = try Self.derive(password.normalForm, salt, cost)
            let numbers = "\(cost.rounds)$\(cost.blockSize)$\(cost.parallelism)"
            return "scrypt$\(numbers)$\(Base64URL.encode(salt))$\(Base64URL.encode(key))"
        }
    }

    /// Compares the password in its normal form and as entered, because early versions hashed it as entered. Without a
    /// stored hash, the function does the same work and returns false.
    func verify(_ password: String, against stored: String?) async throws -> Bool {
        let cost = cost
        let normal = password.normalForm
        let forms = normal.utf8.elementsEqual(password.utf8) ? [normal] : [normal, password]
        return try await onQueue {
            // Try all forms, so that the duration does not reveal which one matched.
            try forms.map { try Self.verify($0, against: stored, cost) }.contains(true)
        }
    }

    private static func verify(_ form: String, against stored: String?, _ cost: Cost) throws -> Bool {
        guard let stored, let parts = parts(of: stored) else {
            _ = try derive(form, randomBytes(16), cost)
            return false
        }
        let isRight = isEqualInConstantTime(try derive(form, parts.salt, parts.cost), parts.key)
        if let rest = parts.cost.rest(to: cost) { _ = try derive(form, parts.salt, rest) }
        return isRight
    }

    /// Early versions did not store the parallelism, which was 1.
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

extension String {
    fileprivate var normalForm: String { precomposedStringWithCanonicalMapping }
}

/// From the system's secure random source.
func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

func isEqualInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
}
