// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB

/// Names the database files of an app with several users: one file per account and server, all in one folder.
///
/// ```swift
/// let files = AccountFiles(at: folder)
/// try files.claim(for: account.id, on: server)    // what was written before the first sign-in
/// let store = try Store(at: files.file(of: account.id, on: server), synced: [Todo.self]) { … }
/// ```
public struct AccountFiles: Sendable, Hashable {
    /// The folder of the files.
    public let folder: URL

    /// - Parameter folder: The folder of the files. It must exist before a store opens a file in it.
    public init(at folder: URL) { self.folder = folder }

    /// The file for rows written before the first sign-in.
    public var unclaimed: URL { folder.appending(path: "unclaimed.sqlite") }

    /// Returns the file of an account. Different accounts or servers have different files, even on a disk that ignores
    /// case.
    ///
    /// - Parameters:
    ///   - account: The account's id, such as `Account.id` of OptimistSession. Any text.
    ///   - server: The server's address. Only its host and port count.
    public func file(of account: String, on server: URL) -> URL {
        let host = server.host() ?? ""
        let port = server.port.map { ":\($0)" } ?? ""
        return folder.appending(path: Self.name(host.lowercased() + port) + "~" + Self.name(account) + ".sqlite")
    }

    /// Gives the unclaimed file to an account, unless the account already has a file. The account's store then sends
    /// the file's rows.
    ///
    /// Neither file may be open. An interrupted call can be repeated.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - server: The account's server.
    ///   - configuration: The store's configuration, for example with the key of an encrypted file. Default: nil,
    ///     GRDB's default.
    /// - Returns: Whether a file was claimed. If not, nothing changes.
    /// - Throws: `DatabaseError`, or Foundation's error if the file cannot be moved.
    @discardableResult
    public func claim(
        for account: String, on server: URL, configuration: Configuration? = nil
    ) throws -> Bool {
        let file = file(of: account, on: server)
        let manager = FileManager.default
        guard manager.fileExists(atPath: unclaimed.path), !manager.fileExists(atPath: file.path) else { return false }
        // A checkpoint leaves only one file to move. The timeout is for a store that is still closing.
        var configuration = configuration ?? Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: unclaimed.path, configuration: configuration)
        try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
        try manager.moveItem(at: unclaimed, to: file)
        try remove(unclaimed)
        return true
    }

    /// Deletes an account's data from this device, including pending rows. The file must not be open.
    ///
    /// - Throws: Foundation's error if a file cannot be removed.
    public func remove(_ account: String, on server: URL) throws { try remove(file(of: account, on: server)) }

    /// Deletes the rows written before the first sign-in. The file must not be open.
    ///
    /// - Throws: Foundation's error if the file cannot be removed.
    public func removeUnclaimed() throws { try remove(unclaimed) }

    private func remove(_ file: URL) throws {
        for suffix in ["", "-wal", "-shm", "-sync"] where FileManager.default.fileExists(atPath: file.path + suffix) {
            try FileManager.default.removeItem(atPath: file.path + suffix)
        }
    }

    /// Returns a distinct name for each text: bytes other than lower-case letters, digits, dots and hyphens become `_`
    /// and two hexadecimal digits. A name that would be too long ends in a digest.
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
