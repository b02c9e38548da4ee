// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire

/// The secret with which a server signs tokens, of 64 bytes. All processes that share a database have the same one.
///
/// It is not stored in the database, so a copy of the database alone, such as a backup, is not enough to sign in. Keep it
/// as you keep a password: a person who has it and a copy of the database can act as any user. With another secret every
/// user has to sign in again.
public struct ServerKeys: Sendable {
    let access: SecretKey
    let refresh: SecretKey

    /// Reads a secret from its text: the result of ``make()``, or the content of `keys.json` in a data directory.
    ///
    /// White space before and after it is ignored. Whether the other processes have the same secret is checked when a
    /// server opens the database.
    ///
    /// - Parameter text: 64 bytes as base64url without padding, or a JSON object whose `access` and `refresh` have them
    ///   together.
    /// - Throws: `OptimistError` with code `wrongSecret` if the text is anything else.
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

    /// Reads a secret from a file, whose content is as ``init(secret:)`` takes it. Blocks the thread.
    ///
    /// - Parameter file: The file, for example `keys.json` of a data directory. Its permissions are not checked.
    /// - Throws: `OptimistError` with code `wrongSecret` if the file cannot be read, or if its content is not a secret.
    public init(at file: URL) throws {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw OptimistError(
                .wrongSecret,
                "\(file.path) cannot be read. Make a secret with `optimist secret`, and give it to every process.")
        }
        try self.init(secret: text)
    }

    /// Makes a new secret, and returns its text: 64 random bytes as base64url without padding, 86 characters.
    ///
    /// It is stored nowhere: the caller has to keep it. May be called on any thread.
    public static func make() -> String { Base64URL.encode(randomBytes(64)) }

    /// Reads the keys of a data directory, or makes them if the file is missing.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if the file cannot be read or written, or if its content is
    ///   not a secret.
    init(directory: URL) throws {
        let file = directory.appending(path: "keys.json")
        guard FileManager.default.fileExists(atPath: file.path) else {
            self.init(access: randomBytes(32), refresh: randomBytes(32))
            try write(to: file)
            return
        }
        do { try self.init(at: file) } catch {
            throw OptimistError(
                .unreadableData,
                "\(file.path) holds no keys. Put a backup in its place, or remove it: then everybody must sign in again."
            )
        }
    }

    private init(access: [UInt8], refresh: [UInt8]) {
        self.access = SecretKey(access)
        self.refresh = SecretKey(refresh)
    }

    /// A hash that tells one secret from another, and does not reveal it: 96 bits of SHA-256, as base64url.
    package var fingerprint: String {
        Base64URL.encode(Array(SHA256.hash(access.bytes + refresh.bytes).prefix(12)))
    }

    private func write(to file: URL) throws {
        func text(_ key: SecretKey) -> JSON { .string(Base64URL.encode(key.bytes)) }
        let json: JSON = ["access": text(access), "refresh": text(refresh)]
        do { try DurableFile.create(file, json.bytes) } catch {
            throw OptimistError(
                .unreadableData, "\(file.path) cannot be written. Check who owns the directory, and its disk.",
                cause: error)
        }
    }
}
