// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
public import Foundation
import OptimistCore
import OptimistWire

/// The secret with which a server signs tokens. All processes that share a database have the same one.
///
/// It is kept apart from the database: a copy of the database alone, such as a backup, lets nobody in.
public struct ServerKeys: Sendable {
    let access: SymmetricKey
    let refresh: SymmetricKey

    /// Reads a secret: what ``make()`` returns, or what a data directory has in `keys.json`. White space around it does not count.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` when the text is no secret.
    public init(secret text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let json = try? JSON(parsing: text.utf8)
        let parts = [json?["access"], json?["refresh"]].compactMap { $0?.string.flatMap(Base64URL.decode) }
        let bytes = json?.object == nil ? Base64URL.decode(text) ?? [] : parts.count == 2 ? parts[0] + parts[1] : []
        guard bytes.count == 64 else {
            throw OptimistError(
                .wrongSecret,
                "This is no secret of a server. Make one with `optimist secret`, and give it to every process.")
        }
        self.init(access: Array(bytes.prefix(32)), refresh: Array(bytes.suffix(32)))
    }

    /// Reads the secret in a file, in the form of ``init(secret:)``.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` when the file cannot be read, or holds no secret.
    public init(file: URL) throws {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw OptimistError(
                .wrongSecret,
                "\(file.path) cannot be read. Make a secret with `optimist secret`, and give it to every process.")
        }
        try self.init(secret: text)
    }

    /// Makes the text of a new secret, of 64 random bytes.
    public static func make() -> String { Base64URL.encode(randomBytes(64)) }

    /// Reads the keys of a data directory, or makes them.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` when the file is there and is not what it should be.
    init(directory: URL) throws {
        let file = directory.appending(path: "keys.json")
        guard FileManager.default.fileExists(atPath: file.path) else {
            self.init(access: randomBytes(32), refresh: randomBytes(32))
            try write(to: file)
            return
        }
        do { try self.init(file: file) } catch {
            throw OptimistError(
                .unreadableData,
                "\(file.path) holds no keys. Put a backup in its place, or remove it: then everybody must sign in again."
            )
        }
    }

    private init(access: [UInt8], refresh: [UInt8]) {
        self.access = SymmetricKey(data: access)
        self.refresh = SymmetricKey(data: refresh)
    }

    /// Tells one secret from another, and nothing of it.
    package var fingerprint: String {
        let bytes = access.withUnsafeBytes { Array($0) } + refresh.withUnsafeBytes { Array($0) }
        return Base64URL.encode(Array(SHA256.hash(data: bytes).prefix(12)))
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
