// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore

/// Stores credentials until the process ends. For tests, and for apps whose users sign in at each launch. Thread-safe.
public final class InMemoryCredentialStore: CredentialStore {
    private let kept = Mutex<(credentials: Credentials?, installID: UUID?)>((nil, nil))

    /// Makes a store, by default without a signed-in user.
    public init(_ credentials: Credentials? = nil) {
        kept.withLock { $0.credentials = credentials }
    }

    public func load() -> Credentials? { kept.withLock { $0.credentials } }

    public func save(_ credentials: Credentials) { kept.withLock { $0.credentials = credentials } }

    public func erase() { kept.withLock { $0.credentials = nil } }

    public func installID(storingIfMissing new: UUID) -> UUID {
        kept.withLock { kept in
            let id = kept.installID ?? new
            kept.installID = id
            return id
        }
    }
}

extension CredentialStore where Self == InMemoryCredentialStore {
    /// A new store that forgets its credentials when the process ends.
    public static var inMemory: InMemoryCredentialStore { InMemoryCredentialStore() }
}
