// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore

/// Keeps credentials in a directory that no other user may enter. For Linux, and for tests on any system.
///
/// The directory is made with mode 0700 and the files with 0600. A directory or a file that others can read, that is
/// a link or that belongs to another user is refused, with a message that says what to do. Several processes may use
/// one directory.
///
/// Keep it out of backups: the id of the installation, which is in it, must not follow the data to another device.
public struct FileCredentialStore: CredentialStore {
    private let directory: PrivateDirectory

    private static let credentials = "credentials.json"
    private static let installID = "install-id"
    private static let lease = "refresh-lease"

    /// - Parameter directory: Made at first use, with its parents.
    public init(at directory: URL) {
        self.directory = PrivateDirectory(path: directory.path(percentEncoded: false).trimmingTrailingSlashes)
    }

    public func load() throws -> Credentials? {
        guard let bytes = try directory.read(Self.credentials) else { return nil }
        do {
            return try Credentials(serialized: Data(bytes))
        } catch {
            // The cause is left out: a decoding error may quote what it could not decode.
            throw OptimistError(
                .credentialsUnreadable, "The kept credentials are damaged. Sign in again.", remedy: .signIn)
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

    /// The system gives it back when the process ends.
    public func lease(at now: Date) throws -> CredentialLease? { try directory.lock(Self.lease) }

    public func installID(storingIfMissing new: UUID) throws -> UUID {
        let text = try directory.read(Self.installID, orCreate: Array(new.uuidString.lowercased().utf8))
        if let id = UUID(uuidString: String(decoding: text, as: UTF8.self)) { return id }
        // Damaged: a new installation, as far as anybody can tell.
        try directory.replace(Self.installID, with: Array(new.uuidString.lowercased().utf8))
        return new
    }
}

extension CredentialStore where Self == FileCredentialStore {
    /// Kept in a directory that only its owner may enter.
    public static func file(at directory: URL) -> FileCredentialStore { FileCredentialStore(at: directory) }
}

extension String {
    fileprivate var trimmingTrailingSlashes: String {
        var text = self[...]
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
