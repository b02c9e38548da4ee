// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// An operator's order about service keys, from `optimist key …`.
package enum ServiceKeyOrder: Codable, Hashable, Sendable {
    /// The answer has the text of the key, which is shown once.
    ///
    /// - Parameters:
    ///   - accounts: The ids of persons' accounts. Nil: all.
    ///   - spaces: The ids of spaces. Nil: all.
    ///   - days: Nil: the key does not expire.
    case create(
        name: String, scope: ServiceKey.Scope, types: [String]?, accounts: [String]?, spaces: [String]?, days: Int?)
    case list
    /// - Parameter key: The id or the name of a key.
    case revoke(key: String)
}

extension OptimistError.Code {
    /// A service key cannot be made as it was ordered.
    package static let badServiceKey = Self("serviceKey.bad")
}

extension Accounts {
    /// - Throws: ``OptimistError`` with code `account.notFound` or `serviceKey.bad`.
    func carryOut(_ order: ServiceKeyOrder) async throws -> JSON {
        switch order {
        case .create(let name, let scope, let types, let accounts, let spaces, let days):
            let secret = ServiceKeySecret()
            let key = ServiceKey(
                id: secret.id, name: name, hash: Data(secret.hash), scope: scope, types: types.map(Self.merged),
                accounts: accounts.map(Self.merged),
                spaces: try spaces.map { Self.merged(try $0.map(Self.account(ofSpace:))) }, createdAt: time,
                expiresAt: days.map { time + Double($0) * 86_400 })
            try await check(key)
            try await store.add(key)
            log.note(.serviceKeyMade, nil, serviceKey: key.id)
            var answer = StoredServiceKey(key: key, usedAt: nil).json(at: time)
            answer["text"] = .string(secret.text)
            return .object(answer)
        case .list: return ["keys": .array(try await serviceKeys())]
        case .revoke(let named):
            let found = try await store.serviceKeys().map(\.key).filter { $0.id == named || $0.name == named }
            // An earlier key may have had the same name.
            guard let key = found.first(where: { $0.isValid(at: time) }) ?? found.first else {
                throw OptimistError(
                    .notFound, "There is no key with this id or name. `optimist key list` lists all keys.")
            }
            try await store.revoke(serviceKey: key.id, at: time)
            log.note(.serviceKeyRevoked, nil, serviceKey: key.id)
            return ["revoked": .string(key.id), "name": .string(key.name)]
        }
    }

    /// All keys without their hashes, by id.
    func serviceKeys() async throws -> [JSON] {
        try await store.serviceKeys().map { .object($0.json(at: time)) }
    }

    private func check(_ key: ServiceKey) async throws {
        guard (1...100).contains(key.name.utf8.count), OutsideText.isClean(key.name) else {
            throw OptimistError(.badServiceKey, "A name must have 1 to 100 bytes and no control characters.")
        }
        if try await store.serviceKeys().contains(where: { $0.key.name == key.name && $0.key.isValid(at: time) }) {
            throw OptimistError(.badServiceKey, "A valid key has this name. Choose another name, or revoke that key.")
        }
        if key.types?.isEmpty == true {
            throw OptimistError(.badServiceKey, "A key must allow at least one type. No key was made.")
        }
        if let known = settings.types, let type = key.types?.first(where: { !known.contains($0) }) {
            throw OptimistError(
                .badServiceKey,
                """
                The schema does not have the type \(type). Its types are \(known.sorted().joined(separator: ", ")). No \
                key was made.
                """)
        }
        for account in key.accounts ?? [] where try await store.account(id: account) == nil {
            throw OptimistError(
                .badServiceKey, "There is no account \(account). `optimist account list` lists all accounts.")
        }
        for space in key.spaces ?? [] {
            do { _ = try await spaces.summary(of: space) } catch StoreError.noAccount {
                throw OptimistError(
                    .badServiceKey,
                    """
                    There is no space \(SpaceAccount.space(of: space) ?? space). `optimist space list` lists all spaces.
                    """)
            }
        }
    }

    /// The names in their order, each once.
    private static func merged(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    private static func account(ofSpace space: String) throws -> String {
        guard let account = SpaceAccount.id(ofSpace: space.lowercased()) else {
            throw OptimistError(.badServiceKey, "\(space) is not the id of a space, a UUID.")
        }
        return account
    }
}

extension StoredServiceKey {
    /// The key as operators see it, without its hash.
    func json(at now: Double) -> JSONObject {
        func time(_ seconds: Double?) -> JSON {
            seconds.map { .string(Date(timeIntervalSince1970: $0).utcText) } ?? .null
        }
        func list(_ texts: [String]?) -> JSON { texts.map { .array($0.map(JSON.string)) } ?? .null }
        return [
            "id": .string(key.id), "name": .string(key.name), "scope": .string(key.scope.rawValue),
            "types": list(key.types), "accounts": list(key.accounts),
            "spaces": list(key.spaces?.map { SpaceAccount.space(of: $0) ?? $0 }),
            "createdAt": time(key.createdAt), "expiresAt": time(key.expiresAt), "revokedAt": time(key.revokedAt),
            "lastUsedAt": time(usedAt), "isValid": .bool(key.isValid(at: now)),
        ]
    }
}
