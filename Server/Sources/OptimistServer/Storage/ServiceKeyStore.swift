// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The interface between service keys and a database. Each function returns when its writes are durable.
///
/// The server asks for a key with each of its requests, so no process accepts a revoked key.
package protocol ServiceKeyStore: Sendable {
    func serviceKey(id: String) async throws -> StoredServiceKey?
    /// Sorted by id, with revoked and expired keys.
    func serviceKeys() async throws -> [StoredServiceKey]
    func add(_ key: ServiceKey) async throws
    /// Does nothing if there is no such key, or if it is revoked already.
    func revoke(serviceKey id: String, at time: Double) async throws
    /// Raises the time of a key's last use.
    func noteUse(ofServiceKey id: String, at time: Double) async throws
}

extension ServiceKey {
    /// The name of a key's record in the settings, where both stores keep keys.
    package static func setting(of id: String) -> String { "key.\(id)" }
    /// The name of the record of its last use, which changes more often.
    package static func useSetting(of id: String) -> String { "keyused.\(id)" }

    /// The form in which a store keeps the key.
    package var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
