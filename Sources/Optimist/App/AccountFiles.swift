// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB

/// Names the database files of an app in which several users sign in. Each account of each server has its own file, and all
/// files are in one folder.
///
/// ```swift
/// let files = AccountFiles(at: folder)
/// try files.claim(for: account.id, on: server)    // what was written before the first sign-in
/// let store = try Store(at: files.file(of: account.id, on: server), synced: [Todo.self]) { … }
/// ```
public struct AccountFiles: Sendable, Hashable {
    /// The folder of the files.
    public let folder: URL

    /// - Parameter folder: The folder of the files. It must exist before a file is opened.
    public init(at folder: URL) { self.folder = folder }

    /// The file for what the user writes before the first sign-in.
    public var unclaimed: URL { folder.appending(path: "unclaimed.sqlite") }

    /// The file of an account. The same account and server always have the same file. Different ones have different files, even
    /// on a disk that ignores case.
    ///
    /// - Parameters:
    ///   - account: The account's id, such as `Account.id` of OptimistSession. Any text.
    ///   - server: The server's address. Only its host and port are used.
    public func file(of account: String, on server: URL) -> URL {
        let host = server.host() ?? ""
        let port = server.port.map { ":\($0)" } ?? ""
        return folder.appending(path: Self.name(host.lowercased() + port) + "~" + Self.name(account) + ".sqlite")
    }

    /// Gives the rows that were written before the first sign-in to an account, unless the account already has a file here. The
    /// rows are pending when the account's file is opened, and are then sent.
    ///
    /// Neither file may be open. If the call is interrupted at any moment, it can be repeated.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - server: The server that the account is on.
    ///   - configuration: The one with which the app opens its store, for example with the key of an encrypted file. Default:
    ///     nil, GRDB's own.
    /// - Returns: Whether there was a file to give. If there was none, or if the account already has a file, nothing is
    ///   changed.
    /// - Throws: `DatabaseError`, or Foundation's error when the file cannot be moved.
    @discardableResult
    public func claim(
        for account: String, on server: URL, configuration: Configuration? = nil
    ) throws -> Bool {
        let file = file(of: account, on: server)
        let manager = FileManager.default
        guard manager.fileExists(atPath: unclaimed.path), !manager.fileExists(atPath: file.path) else { return false }
        // Copies the rest of the log into the file itself, so that there is only one file to move. The store that had the file
        // open may still be closing.
        var configuration = configuration ?? Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: unclaimed.path, configuration: configuration)
        try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
        try manager.moveItem(at: unclaimed, to: file)
        try remove(unclaimed)
        return true
    }

    /// Removes an account's data from this device, including its pending rows. The file must not be open.
    ///
    /// - Throws: Foundation's error when a file cannot be removed.
    public func remove(_ account: String, on server: URL) throws { try remove(file(of: account, on: server)) }

    /// Removes what the user wrote before the first sign-in. The file must not be open.
    ///
    /// - Throws: Foundation's error if the file cannot be removed.
    public func removeUnclaimed() throws { try remove(unclaimed) }

    private func remove(_ file: URL) throws {
        for suffix in ["", "-wal", "-shm", "-sync"] where FileManager.default.fileExists(atPath: file.path + suffix) {
            try FileManager.default.removeItem(atPath: file.path + suffix)
        }
    }

    /// Writes each byte as `_` and two hexadecimal digits, except lower-case letters, digits, dots and hyphens, so that no two
    /// texts have the same name. A name that would be too long for a disk ends in a digest.
    private static func name(_ text: String) -> String {
        let name = text.utf8.reduce(into: "") { name, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                UInt8(ascii: "-"):
                name.append(Character(UnicodeScalar(byte)))
            default: name += (byte < 16 ? "_0" : "_") + String(byte, radix: 16)
            }
        }
        if name.utf8.count <= 100 { return name }
        let digest = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return name.prefix(80) + "_" + String(digest, radix: 16)
    }
}
