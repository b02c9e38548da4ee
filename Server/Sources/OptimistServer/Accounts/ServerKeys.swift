// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
import Foundation
import OptimistCore
import OptimistWire

/// The keys with which the server signs tokens, kept in a file of their own beside the database.
///
/// A copy of the database alone, a backup say, lets no one in.
struct ServerKeys: Sendable {
    let access: SymmetricKey
    let refresh: SymmetricKey

    /// Reads the keys of a data directory, or makes them.
    ///
    /// - Throws: ``OptimistError`` `unreadableData` when the file is there and is not what it should be.
    init(directory: URL) throws {
        let file = directory.appending(path: "keys.json")
        guard FileManager.default.fileExists(atPath: file.path) else {
            self.init(access: randomBytes(32), refresh: randomBytes(32))
            try write(to: file)
            return
        }
        let json = try? JSON(parsing: Data(contentsOf: file))
        guard let access = json?["access"]?.string.flatMap(Base64URL.decode), access.count == 32,
            let refresh = json?["refresh"]?.string.flatMap(Base64URL.decode), refresh.count == 32
        else {
            throw OptimistError(
                .unreadableData,
                "\(file.path) holds no keys. Put a backup in its place, or remove it: then everybody must sign in again."
            )
        }
        self.init(access: access, refresh: refresh)
    }

    private init(access: [UInt8], refresh: [UInt8]) {
        self.access = SymmetricKey(data: access)
        self.refresh = SymmetricKey(data: refresh)
    }

    private func write(to file: URL) throws {
        func text(_ key: SymmetricKey) -> JSON { .string(Base64URL.encode(key.withUnsafeBytes { Array($0) })) }
        let json: JSON = ["access": text(access), "refresh": text(refresh)]
        do { try DurableFile.create(file, json.bytes) } catch {
            throw OptimistError(
                .unreadableData, "\(file.path) cannot be written. Check who owns the directory, and its disk.",
                cause: error)
        }
    }
}
