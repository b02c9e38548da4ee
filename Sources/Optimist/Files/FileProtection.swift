// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

extension Store {
    /// When the system allows access to a store's file, on iOS, iPadOS, tvOS, watchOS and visionOS. No effect
    /// elsewhere.
    public enum FileProtection: Sendable {
        /// Inherits the folder's protection, usually `afterFirstUnlock`. The default.
        case system
        /// As soon as the device has been unlocked for the first time after its start. Background sync works.
        case afterFirstUnlock
        /// While the device is unlocked. An open file stays readable, so background sync continues until the app ends,
        /// but an app launched while the device is locked cannot open the store.
        case unlessOpen
    }
}

extension Store.FileProtection {
    private var type: FileProtectionType? {
        switch self {
        case .system: nil
        case .afterFirstUnlock: .completeUntilFirstUserAuthentication
        case .unlessOpen: .completeUnlessOpen
        }
    }

    /// Creates the file, so that it never exists without its protection. If the folder is missing, opening the file
    /// reports that.
    func prepare(_ url: URL) throws {
        guard type != nil, !FileManager.default.fileExists(atPath: url.path) else { return }
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        try protect(url)
    }

    func protect(_ url: URL) throws {
        guard let type else { return }
        for part in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: url.path + part) {
            try Self.set(type, url.path + part)
        }
    }

    private static func set(_ type: FileProtectionType, _ path: String) throws {
        #if canImport(Darwin)
            try FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: path)
        #endif
    }
}
