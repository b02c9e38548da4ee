// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

extension Store {
    /// When the system lets a store's file be read on iOS, iPadOS, tvOS, watchOS and visionOS. Without effect elsewhere.
    public enum FileProtection: Sendable {
        /// As the folder of the file says: usually after the first unlock. The default.
        case system
        /// After the device was unlocked once since it started. Background sync works.
        case afterFirstUnlock
        /// While the device is unlocked. A file that is open then stays readable, so background sync goes on until the app
        /// ends, and a launch while the device is locked cannot open the store.
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

    /// Creates the file, so that it is never there without its protection. A missing folder is an error of opening it.
    func prepare(_ url: URL) throws {
        guard type != nil, !FileManager.default.fileExists(atPath: url.path) else { return }
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        try protect(url)
    }

    /// Protects the file, its write-ahead log and the log's index, as far as they are there.
    func protect(_ url: URL) throws {
        guard let type else { return }
        for part in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: url.path + part) {
            try Self.set(type, url.path + part)
        }
    }

    /// Sets an attribute that only Apple's systems have.
    private static func set(_ type: FileProtectionType, _ path: String) throws {
        #if canImport(Darwin)
            try FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: path)
        #endif
    }
}
