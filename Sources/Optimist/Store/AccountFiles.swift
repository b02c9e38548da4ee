// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB

/// Names the database files of an app in which several users sign in: one for each account of each server, in one
/// folder.
///
/// ```swift
/// let files = AccountFiles(in: folder)
/// try files.claim(for: account.id, on: server)    // what was written before the first sign-in
/// let store = try Store(at: files.file(of: account.id, on: server), synced: [Todo.self]) { … }
/// ```
public struct AccountFiles: Sendable, Hashable {
    /// The folder of the files.
    public let folder: URL

    /// - Parameter folder: Must exist before a file is opened.
    public init(in folder: URL) { self.folder = folder }

    /// The file for what the user writes before the first sign-in.
    public var unclaimed: URL { folder.appending(path: "unclaimed.sqlite") }

    /// The file of an account. It is the same for the same account and server, and different for any others, also on a
    /// disk that ignores case.
    ///
    /// - Parameters:
    ///   - account: The account's id, as `Account.id` of OptimistSession. Any text.
    ///   - server: The server's address. Only its host and port count.
    public func file(of account: String, on server: URL) -> URL {
        let host = server.host() ?? ""
        let port = server.port.map { ":\($0)" } ?? ""
        return folder.appending(path: Self.name(host.lowercased() + port) + "~" + Self.name(account) + ".sqlite")
    }

    /// Gives what was written before the first sign-in to an account, unless that has a file here already. It is found to be
    /// pending when the account's file is opened, and sent.
    ///
    /// Neither file may be open. Interrupted at any moment, it can be called again.
    ///
    /// - Returns: Whether there was something to give. If not, or if the account has a file, nothing is changed.
    /// - Throws: `DatabaseError`, or Foundation's error when the file cannot be moved.
    @discardableResult
    public func claim(for account: String, on server: URL) throws -> Bool {
        let file = file(of: account, on: server)
        let manager = FileManager.default
        guard manager.fileExists(atPath: unclaimed.path), !manager.fileExists(atPath: file.path) else { return false }
        // Copies the rest of the log into the file itself, so that there is only one file to move. The store that had
        // it may still be closing.
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: unclaimed.path, configuration: configuration)
        try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
        try manager.moveItem(at: unclaimed, to: file)
        try remove(unclaimed)
        return true
    }

    /// Removes an account's data from this device, with its pending rows. The file must not be open.
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

    /// Every byte but lower-case letters, digits, dots and hyphens as two hexadecimal digits after a `_`, so that no two
    /// texts have one name. Names that would be too long for a disk end in a digest.
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
