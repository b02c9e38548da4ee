// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Tiers for common values, named by the descriptions of their keys.
///
/// The description of a key must be the same in every launch, and different for different keys, as those of a `String`, an
/// `Int`, a `UUID` and an absolute `URL` are. For other keys, pass names and closures to the other initializer.
extension DiskTier where Key: CustomStringConvertible, Value == Data {
    /// Keeps bytes as they are.
    ///
    /// - Parameters:
    ///   - cache: Where the bytes are.
    ///   - prefix: What the names begin with. Tiers that share a cache have different ones. Default: nothing.
    ///   - now: The time of day.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(cache, name: { "\(prefix)\($0)" }, decode: { Data($0) }, encode: { Array($0) }, now: now)
    }
}

extension DiskTier where Key: CustomStringConvertible, Value == String {
    /// Keeps texts as UTF-8. Parameters as those of the initializer for `Data`.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            cache, name: { "\(prefix)\($0)" }, decode: { String(decoding: $0, as: UTF8.self) },
            encode: { Array($0.utf8) }, now: now)
    }
}

extension DiskTier where Key: CustomStringConvertible, Value: Codable {
    /// Keeps values as JSON, also if the fetch gave other bytes with them. A value that an earlier version of the app has
    /// kept and that cannot be read is fetched again. Parameters as those of the initializer for `Data`.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            cache, name: { "\(prefix)\($0)" }, decode: { try JSONDecoder().decode(Value.self, from: Data($0)) },
            encode: { Array(try JSONEncoder().encode($0)) }, keepsFetchedBytes: false, now: now)
    }
}

extension DiskTier {
    /// Copies the bytes of a value into a file, for a player or another app that takes only files. The cache itself keeps many
    /// values in one file.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - file: Where the copy goes. It replaces a file that is there. Its folder must exist. The app removes it.
    /// - Returns: Whether the disk had the value. If it did not, `file` is as it was.
    /// - Throws: An error of the file system. `file` is then as it was.
    public func copy(_ key: Key, to file: URL) async throws -> Bool {
        // What waits for the disk is written first.
        await settled()
        return try await offTheTasks { [self] in
            Result {
                guard let entry = stored(key) else { return false }
                try Data(entry.bytes).write(to: file, options: .atomic)
                return true
            }
        }.get()
    }
}
