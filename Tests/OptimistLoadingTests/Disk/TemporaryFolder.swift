// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

/// A temporary folder, and a clock that only the test advances.
final class TemporaryFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "disk-cache-\(UUID().uuidString)")
        .path(percentEncoded: false)
    let clock = StandingClock()

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func cache(
        _ limits: DiskLimits = DiskLimits(), fault: (@Sendable () -> CInt?)? = nil,
        openFault: (@Sendable () -> CInt?)? = nil
    ) -> DiskCache {
        DiskCache(
            at: URL(fileURLWithPath: path), limits: limits, now: { [clock] in clock.now }, fault: fault,
            openFault: openFault)
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// The allocated size of all files, from the file system.
    var sizeBytes: Int {
        names.reduce(0) { sum, name in
            var status = stat()
            return lstat("\(path)/\(name)", &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    func permissions(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? path : "\(path)/\(name)")
        return attributes[.posixPermissions] as? Int
    }

    func contents() -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, [UInt8](FileManager.default.contents(atPath: "\(path)/\($0)") ?? Data()))
            })
    }

    /// Replaces all files.
    func replace(with contents: [String: [UInt8]]) {
        try? FileManager.default.removeItem(atPath: path)
        mkdir(path, 0o700)
        overwrite(with: contents)
    }

    /// Changes the content of existing files in place.
    func overwrite(with contents: [String: [UInt8]]) {
        for (name, bytes) in contents {
            let file = open("\(path)/\(name)", O_WRONLY | O_CREAT, 0o600)
            _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            ftruncate(file, off_t(bytes.count))  // Not truncated on open, which makes some systems flush the file.
            close(file)
        }
    }

    func change(_ change: (_ name: String, _ bytes: inout [UInt8]) -> Void) {
        var contents = contents()
        for (name, bytes) in contents {
            var bytes = bytes
            change(name, &bytes)
            contents[name] = bytes
        }
        replace(with: contents)
    }
}

final class StandingClock: Sendable {
    private let seconds = Mutex(1_800_000_000.0)

    var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }

    func advance(by seconds: Double) { self.seconds.withLock { $0 += seconds } }
}

extension DiskEntry {
    static func sample(size: Int, seed: UInt64) -> DiskEntry {
        var random = SplitMix64(seed: seed &* 7919 &+ UInt64(size))
        let words = (0..<(size + 7) / 8).map { _ in random.next() }
        let bytes = words.withUnsafeBytes { Array($0.prefix(size)) }
        return DiskEntry(
            bytes: bytes, storedAt: Date(timeIntervalSince1970: 1_700_000_000.25),
            expiresAt: seed % 3 == 0 ? nil : Date(timeIntervalSince1970: 1_900_000_000.5),
            etag: seed % 2 == 0 ? nil : "\"ä-\(seed)\"", lastModified: "Mon, 01 Jan 2024 00:00:0\(seed % 10) GMT")
    }
}
