// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Security)
    package import Foundation
    import OptimistCore
    import Security

    /// Entries of this device's keychain. They are readable after the first unlock and never leave the device, not even
    /// in a backup. Each function throws an `OptimistError` whose code begins with `credentials`.
    package struct Keychain: Sendable {
        private let service: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: The name of the entries.
        ///   - accessGroup: Shares the entries with the app's extensions, which need the same entitlement.
        package init(service: String, accessGroup: String? = nil) {
            self.service = service
            self.accessGroup = accessGroup
        }

        /// - Returns: Nil if there is no entry of this name.
        package func read(_ name: String) throws -> Data? {
            var query = query(name)
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var item: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &item)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw failure(status, .credentialsUnreadable) }
            return item as? Data
        }

        /// - Returns: False if there is no entry to update.
        package func update(_ name: String, _ data: Data) throws -> Bool {
            let status = SecItemUpdate(
                query(name) as CFDictionary, [kSecValueData as String: data] as [String: Any] as CFDictionary)
            if status == errSecItemNotFound { return false }
            guard status == errSecSuccess else { throw failure(status, .credentialsUnwritable) }
            return true
        }

        /// - Returns: False if the entry already exists.
        package func add(_ name: String, _ data: Data) throws -> Bool {
            var item = query(name)
            item[kSecValueData as String] = data
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecDuplicateItem { return false }
            guard status == errSecSuccess else { throw failure(status, .credentialsUnwritable) }
            return true
        }

        /// Adds an entry, or replaces its data.
        package func write(_ name: String, _ data: Data) throws {
            if try update(name, data) { return }
            if try add(name, data) { return }
            guard try update(name, data) else { throw failure(errSecItemNotFound, .credentialsUnwritable) }
        }

        /// Deletes an entry, if there is one.
        package func delete(_ name: String) throws {
            let status = SecItemDelete(query(name) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw failure(status, .credentialsUnwritable)
            }
        }

        private func query(_ name: String) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: service,
                kSecAttrAccount as String: name,
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func failure(_ status: OSStatus, _ code: OptimistError.Code) -> OptimistError {
            switch status {
            case errSecInteractionNotAllowed:
                OptimistError(
                    .credentialsLocked, "The credentials cannot be read until the device is unlocked.",
                    remedy: .retry(after: .seconds(10)))
            case errSecMissingEntitlement:
                OptimistError(code, "The app is not allowed to use the keychain. Sign it with a keychain access group.")
            default:
                OptimistError(code, "The keychain returned status \(status).")
            }
        }
    }
#endif
