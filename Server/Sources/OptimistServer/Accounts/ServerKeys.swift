// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire

/// The 64-byte secret that signs a server's tokens. All processes that share a database use the same one.
///
/// It is not stored in the database, so a copy of the database, such as a backup, is not enough to sign in. Protect it
/// like a password: anyone with the secret and a copy of the database can act as any user. If the secret changes, all
/// users must sign in again.
public struct ServerKeys: Sendable {
    let access: SecretKey
    let refresh: SecretKey

    /// Parses a secret: the result of ``make()``, or the content of a data directory's `keys.json`.
    ///
    /// When a server opens the database, it checks whether the other processes use the same secret.
    ///
    /// - Parameter text: 64 bytes as base64url without padding, or a JSON object whose `access` and `refresh` together
    ///   contain them. Surrounding white space is ignored.
    /// - Throws: `OptimistError` with code `wrongSecret` if the text is anything else.
    public init(secret text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let json = try? JSON(parsing: text.utf8)
        let parts = [json?["access"], json?["refresh"]].compactMap { $0?.string.flatMap(Base64URL.decode) }
        let bytes = json?.object == nil ? Base64URL.decode(text) ?? [] : parts.count == 2 ? parts[0] + parts[1] : []
        guard bytes.count == 64 else {
            throw OptimistError(
                .wrongSecret,
                "This is not a server secret. Create one with `optimist secret` and give it to every process.")
        }
        self.init(access: Array(bytes.prefix(32)), refresh: Array(bytes.suffix(32)))
    }

    /// Reads a secret from a file. Blocks the thread.
    ///
    /// - Parameter file: A file that ``init(secret:)`` can parse, for example `keys.json` of a data directory. Its
    ///   permissions are not checked.
    /// - Throws: `OptimistError` with code `wrongSecret` if the file cannot be read or its content is not a secret.
    public init(at file: URL) throws {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw OptimistError(
                .wrongSecret,
                "\(file.path) cannot be read. Create a secret with `optimist secret` and give it to every process.")
        }
        try self.init(secret: text)
    }

    /// Returns a new secret: 64 random bytes as base64url without padding, 86 characters. It is not stored: the caller
    /// must keep it. Call it from any thread.
    public static func make() -> String { Base64URL.encode(randomBytes(64)) }

    /// Reads the keys of a data directory, or creates them if the file is missing.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if the file cannot be read or written, or is not a secret.
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
                "\(file.path) does not contain valid keys. Restore the file from a backup, or remove it; all users must then sign in again."
            )
        }
    }

    private init(access: [UInt8], refresh: [UInt8]) {
        self.access = SecretKey(access)
        self.refresh = SecretKey(refresh)
    }

    /// Identifies the secret without revealing it: 96 bits of SHA-256, as base64url.
    package var fingerprint: String {
        Base64URL.encode(Array(SHA256.hash(access.bytes + refresh.bytes).prefix(12)))
    }

    private func write(to file: URL) throws {
        func text(_ key: SecretKey) -> JSON { .string(Base64URL.encode(key.bytes)) }
        let json: JSON = ["access": text(access), "refresh": text(refresh)]
        do { try DurableFile.create(file, json.bytes) } catch {
            throw OptimistError(
                .unreadableData, "\(file.path) cannot be written. Check the owner of the directory and its disk.",
                cause: error)
        }
    }
}
