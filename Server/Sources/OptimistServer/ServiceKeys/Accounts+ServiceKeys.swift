// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Accounts {
    /// In seconds. A key's last use is noted at most once in this time.
    private static let useInterval = 60.0

    /// Finds the key of a request. A wrong key counts as an attempt of its address.
    ///
    /// - Throws: ``Unauthorized``, or ``RequestProblem`` with status 429 after too many wrong keys.
    func identify(serviceKey text: String, _ caller: Caller) async throws -> ServiceKey {
        let secret = ServiceKeySecret(text)
        let stored: StoredServiceKey? = if let secret { try await store.serviceKey(id: secret.id) } else { nil }
        guard let secret, let stored, isEqualInConstantTime(Array(stored.key.hash), secret.hash) else {
            throw try await refusal("The service key is not valid.", nil, caller)
        }
        guard stored.key.isValid(at: time) else {
            throw try await refusal("The service key was revoked or has expired.", stored.key.id, caller)
        }
        if time - (stored.usedAt ?? -.infinity) >= Self.useInterval {
            try await store.noteUse(ofServiceKey: stored.key.id, at: time)
        }
        return stored.key
    }

    private func refusal(_ why: String, _ key: String?, _ caller: Caller) async throws -> any Error {
        log.note(.serviceKeyRefused, caller, serviceKey: key)
        guard let rate = settings.attempts[.serviceKey],
            try await attempts.attempt(.serviceKey, caller.throttleKey, rate) != nil
        else { return Unauthorized(description: why) }
        return RequestProblem(
            type: "about:blank", status: 429,
            detail: "Too many wrong service keys from this address. Try again later.")
    }
}
