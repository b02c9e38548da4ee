// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import Synchronization

/// Keeps credentials as long as the process lives. For tests, and for people who must sign in each time.
public final class InMemoryCredentialStore: CredentialStore {
    private let kept = Mutex<(credentials: Credentials?, installID: UUID?)>((nil, nil))

    public init(_ credentials: Credentials? = nil) {
        kept.withLock { $0.credentials = credentials }
    }

    public func load() -> Credentials? { kept.withLock { $0.credentials } }

    public func save(_ credentials: Credentials) { kept.withLock { $0.credentials = credentials } }

    public func erase() { kept.withLock { $0.credentials = nil } }

    public func installID(orKeep new: UUID) -> UUID {
        kept.withLock { kept in
            let id = kept.installID ?? new
            kept.installID = id
            return id
        }
    }
}

extension CredentialStore where Self == InMemoryCredentialStore {
    /// Forgotten when the process ends.
    public static var inMemory: InMemoryCredentialStore { InMemoryCredentialStore() }
}
