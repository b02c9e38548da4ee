// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession

@testable import OptimistCore

/// An in-memory store that records its calls and fails on demand.
final class WatchedStore: CredentialStore {
    let erased = Door()
    let failure = Mutex<OptimistError?>(nil)
    let saves = Mutex<[Credentials]>([])
    private let store: InMemoryCredentialStore

    init(_ credentials: Credentials?) { store = InMemoryCredentialStore(credentials) }

    func load() -> Credentials? { store.load() }
    func installID(storingIfMissing new: UUID) -> UUID { store.installID(storingIfMissing: new) }

    func save(_ credentials: Credentials) throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
        saves.withLock { $0.append(credentials) }
        store.save(credentials)
    }

    func erase() {
        store.erase()
        erased.open()
    }
}
