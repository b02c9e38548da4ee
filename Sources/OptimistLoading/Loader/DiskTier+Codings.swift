// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Tiers for common values, with entries named by the descriptions of their keys.
///
/// A key's description must be unique and the same in every launch, as those of `String`, `Int`, `UUID` and absolute
/// `URL` are. For other keys, use the initializer with closures.
extension DiskTier where Key: CustomStringConvertible, Value == Data {
    /// Keeps bytes unchanged.
    ///
    /// - Parameters:
    ///   - cache: Stores the bytes.
    ///   - prefix: The prefix of entry names, which must differ between tiers that share a cache. Default: empty.
    ///   - now: The time of day.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(cache, name: { "\(prefix)\($0)" }, decode: { Data($0) }, encode: { Array($0) }, now: now)
    }
}

extension DiskTier where Key: CustomStringConvertible, Value == String {
    /// Keeps texts as UTF-8. Parameters as for `Data`.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            cache, name: { "\(prefix)\($0)" }, decode: { String(decoding: $0, as: UTF8.self) },
            encode: { Array($0.utf8) }, now: now)
    }
}

extension DiskTier where Key: CustomStringConvertible, Value: Codable {
    /// Keeps values as JSON, even if the fetch returned other bytes. A stored value that an app update can no longer
    /// decode is fetched again. Parameters as for `Data`.
    public convenience init(
        _ cache: DiskCache, prefix: String = "", now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            cache, name: { "\(prefix)\($0)" }, decode: { try JSONDecoder().decode(Value.self, from: Data($0)) },
            encode: { Array(try JSONEncoder().encode($0)) }, keepsFetchedBytes: false, now: now)
    }
}

extension DiskTier {
    /// Copies a value's bytes into a file, for a player or another app that requires a file. The cache itself stores
    /// many values in one file.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - file: The destination, in an existing folder. An existing file is replaced. The app must delete the copy.
    /// - Returns: Whether the disk had the value. If not, `file` is untouched.
    /// - Throws: An error of the file system. `file` is then untouched.
    public func copy(_ key: Key, to file: URL) async throws -> Bool {
        // Finish pending writes first.
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
