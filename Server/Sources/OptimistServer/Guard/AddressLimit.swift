// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

final class AddressLimit: Sendable {
    /// Nil behind a proxy, where all connections have the same address.
    private let limit: Int?
    private let counts = Mutex<[String: Int]>([:])

    init(_ limit: Int?) { self.limit = limit }

    /// - Returns: Whether the connection may stay. If so, call ``leave(_:)`` when it ends.
    func enter(_ address: String) -> Bool {
        guard let limit else { return true }
        return counts.withLock { counts in
            let count = counts[address, default: 0]
            if count < limit { counts[address] = count + 1 }
            return count < limit
        }
    }

    func leave(_ address: String) {
        guard limit != nil else { return }
        counts.withLock { counts in
            let count = counts[address, default: 1] - 1
            counts[address] = count == 0 ? nil : count
        }
    }
}
