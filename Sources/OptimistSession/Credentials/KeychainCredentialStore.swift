// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Security)
    public import Foundation
    import OptimistCore

    /// Stores credentials in this device's keychain. They are readable after the first unlock and never leave the
    /// device, not even in a backup.
    public struct KeychainCredentialStore: CredentialStore {
        private let keychain: Keychain

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
            keychain = Keychain(service: service, accessGroup: accessGroup)
        }

        public func load() throws -> Credentials? {
            guard let data = try keychain.read(Self.credentials) else { return nil }
            guard let credentials = try? Credentials(serialized: data) else {
                throw OptimistError(
                    .credentialsUnreadable, "The stored credentials are damaged. Sign in again.", remedy: .signIn)
            }
            return credentials
        }

        public func save(_ credentials: Credentials) throws {
            try keychain.write(Self.credentials, credentials.serialized())
        }

        public func erase() throws { try keychain.delete(Self.credentials) }

        public func installID(storingIfMissing new: UUID) throws -> UUID {
            if let kept = try keptInstallID() { return kept }
            let data = Data(new.uuidString.lowercased().utf8)
            if try keychain.add(Self.installID, data) { return new }
            // Another process was faster, or the stored id is damaged.
            if let kept = try keptInstallID() { return kept }
            _ = try keychain.update(Self.installID, data)
            return new
        }

        /// The keychain has no locks, so the lease is an entry that expires. Two processes that see it expire at the
        /// same moment may both acquire it.
        public func lease(at now: Date) throws -> CredentialLease? {
            let until = now + Self.leaseDuration
            let mine = Data("\(until.timeIntervalSince1970) \(UUID().uuidString)".utf8)
            if try !keychain.add(Self.lease, mine) {
                guard let theirs = try keychain.read(Self.lease) else { return nil }
                let seconds = Double(String(decoding: theirs, as: UTF8.self).prefix { $0 != " " }) ?? 0
                let end = Date(timeIntervalSince1970: seconds)
                // If this lease ends later than a new one would, the clock was set back after the lease was made.
                guard end <= now || end > until else { return nil }
                guard try keychain.update(Self.lease, mine), try keychain.read(Self.lease) == mine else { return nil }
            }
            return CredentialLease {
                if (try? keychain.read(Self.lease)) == mine { try? keychain.delete(Self.lease) }
            }
        }

        private func keptInstallID() throws -> UUID? {
            try keychain.read(Self.installID).flatMap { UUID(uuidString: String(decoding: $0, as: UTF8.self)) }
        }
    }

    extension CredentialStore where Self == KeychainCredentialStore {
        /// A store in this device's keychain.
        public static var keychain: KeychainCredentialStore { KeychainCredentialStore() }
    }
#endif
