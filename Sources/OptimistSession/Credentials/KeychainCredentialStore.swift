// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Security)
    public import Foundation
    import OptimistCore
    import Security

    /// Stores credentials in this device's keychain. They are readable after the first unlock and never leave the
    /// device, not even in a backup.
    public struct KeychainCredentialStore: CredentialStore {
        private let service: String
        private let accessGroup: String?

        private static let credentials = "credentials"
        private static let installID = "install-id"
        private static let lease = "refresh-lease"
        private static let leaseDuration: TimeInterval = 45

        /// Makes a store.
        ///
        /// - Parameters:
        ///   - service: The name of the entries. An app with several servers uses a different name for each.
        ///   - accessGroup: Shares the entries with the app's extensions, which need the same entitlement.
        public init(service: String = "optimist.session", accessGroup: String? = nil) {
            self.service = service
            self.accessGroup = accessGroup
        }

        public func load() throws -> Credentials? {
            guard let data = try read(Self.credentials) else { return nil }
            guard let credentials = try? Credentials(serialized: data) else {
                throw OptimistError(
                    .credentialsUnreadable, "The stored credentials are damaged. Sign in again.", remedy: .signIn)
            }
            return credentials
        }

        public func save(_ credentials: Credentials) throws {
            let data = try credentials.serialized()
            if try update(Self.credentials, data) { return }
            if try add(Self.credentials, data) { return }
            guard try update(Self.credentials, data) else { throw failure(errSecItemNotFound, .credentialsUnwritable) }
        }

        public func erase() throws {
            let status = SecItemDelete(query(Self.credentials) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw failure(status, .credentialsUnwritable)
            }
        }

        public func installID(storingIfMissing new: UUID) throws -> UUID {
            if let kept = try keptInstallID() { return kept }
            let data = Data(new.uuidString.lowercased().utf8)
            if try add(Self.installID, data) { return new }
            // Another process was faster, or the stored id is damaged.
            if let kept = try keptInstallID() { return kept }
            _ = try update(Self.installID, data)
            return new
        }

        /// The keychain has no locks, so the lease is an entry that expires. Two processes that see it expire at the
        /// same moment may both acquire it.
        public func lease(at now: Date) throws -> CredentialLease? {
            let until = now + Self.leaseDuration
            let mine = Data("\(until.timeIntervalSince1970) \(UUID().uuidString)".utf8)
            if try !add(Self.lease, mine) {
                guard let theirs = try read(Self.lease) else { return nil }
                let seconds = Double(String(decoding: theirs, as: UTF8.self).prefix { $0 != " " }) ?? 0
                let end = Date(timeIntervalSince1970: seconds)
                // If this lease ends later than a new one would, the clock was set back after the lease was made.
                guard end <= now || end > until else { return nil }
                guard try update(Self.lease, mine), try read(Self.lease) == mine else { return nil }
            }
            return CredentialLease {
                if (try? read(Self.lease)) == mine { _ = SecItemDelete(query(Self.lease) as CFDictionary) }
            }
        }

        private func keptInstallID() throws -> UUID? {
            try read(Self.installID).flatMap { UUID(uuidString: String(decoding: $0, as: UTF8.self)) }
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

        private func read(_ name: String) throws -> Data? {
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
        private func update(_ name: String, _ data: Data) throws -> Bool {
            let status = SecItemUpdate(
                query(name) as CFDictionary, [kSecValueData as String: data] as [String: Any] as CFDictionary)
            if status == errSecItemNotFound { return false }
            guard status == errSecSuccess else { throw failure(status, .credentialsUnwritable) }
            return true
        }

        /// - Returns: False if the entry already exists.
        private func add(_ name: String, _ data: Data) throws -> Bool {
            var item = query(name)
            item[kSecValueData as String] = data
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecDuplicateItem { return false }
            guard status == errSecSuccess else { throw failure(status, .credentialsUnwritable) }
            return true
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

    extension CredentialStore where Self == KeychainCredentialStore {
        /// A store in this device's keychain.
        public static var keychain: KeychainCredentialStore { KeychainCredentialStore() }
    }
#endif
