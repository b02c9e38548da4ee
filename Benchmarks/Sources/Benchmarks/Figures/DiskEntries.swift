// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistLoading

/// Writing 50 kB to a disk cache and reading it back, compared with plain files.
struct DiskEntries: Benchmark {
    static let name = "disk-entries"
    let effort: Effort

    private let bytes = [UInt8](repeating: 7, count: 50_000)

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let cache = DiskCache(at: folder.url.appending(path: "cache"))
        let files = try PlainFiles(in: folder.url.appending(path: "files"))
        let count = effort.rows(1_000)
        var round = 0
        let writing = try await Paired(rounds: effort.rounds(15)) {
            round += 1
            return times(count) { cache.store(DiskEntry(bytes: bytes, storedAt: Date()), for: "\(round % 2) \($0)") }
        } rival: {
            times(count) { files.write(bytes, to: "\(round % 2) \($0)") }
        }
        let reading = try await Paired(rounds: effort.rounds(15)) {
            times(count) { cache.entry(for: "1 \($0)")?.bytes.count == bytes.count }
        } rival: {
            times(count) { files.read("1 \($0)").count == bytes.count }
        }
        report(Figure("50 KB from the disk cache", reading, rival: "POSIX open and read", target: Thresholds.diskRead))
        report(Figure("50 KB to the disk cache", writing, rival: "POSIX open and write", target: Thresholds.diskWrite))
    }

    private func times(_ count: Int, _ work: (Int) -> Bool) -> [Double] {
        (0..<count).map { number in
            let start = ContinuousClock.now
            precondition(work(number), "entry \(number) is not there")
            return (ContinuousClock.now - start) / .seconds(1)
        }
    }
}

/// One file per entry.
private struct PlainFiles {
    private let folder: String

    init(in folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder.path
    }

    func write(_ bytes: [UInt8], to name: String) -> Bool {
        let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(file) }
        return bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) } == bytes.count
    }

    func read(_ name: String) -> [UInt8] {
        let file = open("\(folder)/\(name)", O_RDONLY)
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            count = max(pread(file, buffer.baseAddress, buffer.count, 0), 0)
        }
    }
}
