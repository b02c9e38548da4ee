// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The crash logs that Swift's own runtime writes on Linux, if the program was started with
/// `SWIFT_BACKTRACE=enable=yes,format=json,interactive=no,color=no,output-to=DIRECTORY`.
///
/// Swift 6.2 or later, with `swift-backtrace` on the machine. The directory must exist, and should be the program's own. A
/// program that is built with `-fno-omit-frame-pointer` gets longer stacks.
public struct SwiftBacktraceSource: CrashSource {
    private let directory: URL

    /// The largest log that is read.
    private static let maxBytes = 16 << 20
    /// The most logs that are read at once: a program that crashes at every start may leave many.
    private static let maxLogs = 500

    /// - Parameter directory: A file URL of the directory that `output-to` names.
    public init(at directory: URL) { self.directory = directory }

    /// Returns the crashes in the directory. A file that is no such log stays untouched.
    ///
    /// - Throws: The file system's error if the directory cannot be read.
    public func reports() throws -> [CrashReport] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        return names.prefix(Self.maxLogs).compactMap(report)
    }

    public func forget(_ reports: [CrashReport]) {
        for report in reports { try? FileManager.default.removeItem(at: directory.appending(path: report.id)) }
    }

    /// - Parameter name: Such as `campus-4711-0.0.json`: the program, its process, and numbers that keep files apart.
    private func report(_ name: String) -> CrashReport? {
        guard let process = name.wholeMatch(of: #/.*-(\d+)-[\d.]+\.json/#).flatMap({ Int32($0.1) }) else { return nil }
        let file = directory.appending(path: name)
        guard let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize, size <= Self.maxBytes,
            let data = try? Data(contentsOf: file),
            let log = try? JSONDecoder().decode(SwiftBacktrace.self, from: data), log.kind == "crashReport"
        else { return nil }
        return CrashReport(id: name, kind: .crash, process: process, date: log.date, signature: log.signature)
    }
}
