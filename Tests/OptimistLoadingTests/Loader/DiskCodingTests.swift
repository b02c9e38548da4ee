// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct DiskCodingTests {
    private let folder = TemporaryFolder()
    private struct NoSource: Error {}

    /// Stores a value and returns what the next launch reads.
    private func roundTrip<Key, Value>(
        _ value: Value, for key: Key, fetched bytes: [UInt8]? = nil, _ tier: () -> DiskTier<Key, Value>
    ) async throws -> Value {
        let first = tier()
        _ = try await Loader(disk: first) { _ in Fetched(value, bytes: bytes) }.value(for: key)
        await first.settled()
        return try await Loader<Key, Value>(disk: tier()) { _ in throw NoSource() }.value(for: key)
    }

    @Test func `bytes, texts and Codable values survive a relaunch, each under its prefix`()
        async throws
    {
        let address = try #require(URL(string: "https://example.org/a"))
        let bytes = Data([1, 0, 255])
        #expect(try await roundTrip(bytes, for: address) { DiskTier(folder.cache()) } == bytes)
        #expect(try await roundTrip("Zürich", for: 7) { DiskTier(folder.cache(), prefix: "text/") } == "Zürich")
        #expect(try await roundTrip([1, 2], for: 7) { DiskTier(folder.cache(), prefix: "list/") } == [1, 2])
        // The fetched bytes are in the source's format, which may not be the value's.
        let kept = try await roundTrip(Photo(id: 1, title: "Sea"), for: "sea", fetched: Array("<xml/>".utf8)) {
            DiskTier(folder.cache(), prefix: "photo/")
        }
        #expect(kept == Photo(id: 1, title: "Sea"))
    }

    @Test func `a value on the disk is copied into a file, and a missing one is not`() async throws {
        let tier = DiskTier<String, String>(folder.cache())
        let loader = Loader<String, String>(disk: tier) { Fetched("text of \($0.key)") }
        let file = FileManager.default.temporaryDirectory.appending(path: "copy-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await tier.copy("a", to: file) == false)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        _ = try await loader.value(for: "a")
        #expect(try await tier.copy("a", to: file))
        #expect(try String(contentsOf: file, encoding: .utf8) == "text of a")
    }
}
