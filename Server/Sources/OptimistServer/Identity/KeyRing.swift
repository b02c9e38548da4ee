// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
@_spi(Internals) import OptimistWire
import Synchronization

/// Gets the bytes at an address, without following a redirect. Throws if there are none.
typealias KeyFetch = @Sendable (URL) async throws -> [UInt8]

/// The keys of one provider. Several sign-ins share one fetch.
final class KeyRing: Sendable {
    let provider: IdentityProvider
    private struct State {
        var cache: KeyCache
        var fetching: Task<Void, Never>?
    }
    private let state: Mutex<State>
    private let fetch: KeyFetch
    private let elapsed: @Sendable () -> Duration
    private let spawn: @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>
    private let logger: Logger

    /// - Parameter elapsed: Returns the time since a fixed moment.
    /// - Throws: `OptimistError` with code `badIdentityProvider`.
    init(
        _ provider: IdentityProvider, fetch: @escaping KeyFetch, elapsed: @escaping @Sendable () -> Duration,
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>, logger: Logger
    ) throws {
        try provider.check()
        self.provider = provider
        self.fetch = fetch
        self.elapsed = elapsed
        self.spawn = spawn
        self.logger = logger
        state = Mutex(State(cache: try Self.fixed(provider).map(KeyCache.init(fixed:)) ?? KeyCache()))
    }

    private static func fixed(_ provider: IdentityProvider) throws -> [VerificationKey]? {
        func bad(_ file: URL, _ sentence: String) -> OptimistError {
            OptimistError(.badIdentityProvider, "\(file.path), of the identity provider \(provider.name), \(sentence)")
        }
        switch provider.keys {
        case .url(let file) where file.isFileURL, .file(let file):
            guard let bytes = try? Data(contentsOf: file) else { throw bad(file, "cannot be read.") }
            guard let keys = VerificationKey.keys(Array(bytes), for: provider.algorithms) else {
                throw bad(file, "does not contain a key that this server can use.")
            }
            return keys
        case .secret(let file):
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { throw bad(file, "cannot be read.") }
            let secret = Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
            guard secret.count >= 32 else { throw bad(file, "does not contain a secret of at least 32 bytes.") }
            return [VerificationKey(secret: SecretKey(secret))]
        case .discovery, .url: return nil
        }
    }

    /// - Throws: ``TokenRefusal``, ``KeysUnavailable``, or `CancellationError`.
    func key(for token: SignedToken) async throws -> VerificationKey {
        guard provider.algorithms.contains(token.algorithm) else { throw TokenRefusal.wrongAlgorithm }
        while true {
            let (advice, fetching) = advice(for: token)
            switch advice {
            case .check(let key), .checkWhileFetching(let key): return key
            case .refuse(let refusal): throw refusal
            case .wait: throw KeysUnavailable()
            case .fetch: await fetching?.value
            }
            try Task.checkCancellation()
        }
    }

    /// Returns the cache's advice, and the fetch that it asks for.
    ///
    /// A sign-in that is cancelled does not stop the fetch, because others wait for it.
    private func advice(for token: SignedToken) -> (advice: KeyCache.Advice, fetching: Task<Void, Never>?) {
        state.withLock { state in
            let advice = state.cache.advice(id: token.keyID, algorithm: token.algorithm, now: elapsed())
            guard advice.isToFetch else { return (advice, nil) }
            let task = state.fetching ?? spawn { await self.refill() }
            state.fetching = task
            return (advice, task)
        }
    }

    private func refill() async {
        let keys: [VerificationKey]?
        do { keys = VerificationKey.keys(try await fetch(try await address()), for: provider.algorithms) } catch {
            keys = nil
        }
        let now = elapsed()
        state.withLock { state in
            state.fetching = nil
            if let keys { state.cache.fetched(keys, now: now) } else { state.cache.failed(now: now) }
        }
        if keys == nil {
            logger.warning(
                "The keys of an identity provider could not be fetched", metadata: ["provider": "\(provider.name)"])
        }
    }

    /// - Throws: ``KeysUnavailable`` if the provider's metadata is of another issuer or names an unsafe address.
    private func address() async throws -> URL {
        if case .url(let url) = provider.keys { return url }
        guard let discovery = provider.discovery,
            case let metadata = try JSON(parsing: try await fetch(discovery)),
            metadata["issuer"]?.string == provider.issuer,
            let address = metadata["jwks_uri"]?.string.flatMap({ URL(string: $0) }),
            IdentityProvider.isPrivate(address), address.scheme == "https" || discovery.scheme == "http"
        else { throw KeysUnavailable() }
        return address
    }
}

extension KeyCache.Advice {
    fileprivate var isToFetch: Bool {
        switch self {
        case .fetch, .checkWhileFetching: true
        case .check, .refuse, .wait: false
        }
    }
}
