// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore

/// Stores credentials in a directory that other users cannot enter. For Linux, and for tests on any system.
///
/// The directory has mode 0700 and its files 0600. The store refuses a directory or file that is a link, belongs to
/// another user or can be read by others. The error's message says what to do. Several processes may share a directory.
///
/// Exclude the directory from backups: it contains the installation id, which must not move to another device.
public struct FileCredentialStore: CredentialStore {
    private let directory: PrivateDirectory

    private static let credentials = "credentials.json"
    private static let installID = "install-id"
    private static let lease = "refresh-lease"

    /// Makes a store.
    ///
    /// - Parameter directory: Created at first use, with its parents.
    public init(at directory: URL) {
        self.directory = PrivateDirectory(path: directory.path(percentEncoded: false).trimmingTrailingSlashes)
    }

    public func load() throws -> Credentials? {
        guard let bytes = try directory.read(Self.credentials) else { return nil }
        do {
            return try Credentials(serialized: Data(bytes))
        } catch {
            // Omits the cause, because a decoding error may quote the input.
            throw OptimistError(
                .credentialsUnreadable, "The stored credentials are damaged. Sign in again.", remedy: .signIn)
        }
    }

    public func save(_ credentials: Credentials) throws {
        try directory.replace(Self.credentials, with: Array(credentials.serialized()))
        #if canImport(Darwin)
            var url = URL(fileURLWithPath: directory.path)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? url.setResourceValues(values)
        #endif
    }

    public func erase() throws { try directory.remove(Self.credentials) }

    /// The system releases the lease when the process ends.
    public func lease(at now: Date) throws -> CredentialLease? { try directory.lock(Self.lease) }

    public func installID(storingIfMissing new: UUID) throws -> UUID {
        let text = try directory.read(Self.installID, orCreate: Array(new.uuidString.lowercased().utf8))
        if let id = UUID(uuidString: String(decoding: text, as: UTF8.self)) { return id }
        // The id is damaged, so this counts as a new installation.
        try directory.replace(Self.installID, with: Array(new.uuidString.lowercased().utf8))
        return new
    }
}

extension CredentialStore where Self == FileCredentialStore {
    /// A store in a directory that only its owner may enter.
    public static func file(at directory: URL) -> FileCredentialStore { FileCredentialStore(at: directory) }
}

extension String {
    fileprivate var trimmingTrailingSlashes: String {
        var text = self[...]
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
