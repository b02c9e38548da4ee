// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Reads the crash logs that Swift's runtime writes on Linux, if the program was started with
/// `SWIFT_BACKTRACE=enable=yes,format=json,interactive=no,color=no,output-to=DIRECTORY`.
///
/// It requires Swift 6.2 or later, with `swift-backtrace` installed. The directory must exist, and should contain only
/// this program's logs. Stacks are longer if the program is built with `-fno-omit-frame-pointer`.
public struct SwiftBacktraceSource: CrashSource {
    private let directory: URL

    private static let maxBytes = 16 << 20
    /// The maximum number of logs that are read at once: a program that crashes at every start may leave many.
    private static let maxLogs = 500

    /// - Parameter directory: A file URL of the directory named by `output-to`.
    public init(at directory: URL) { self.directory = directory }

    /// Returns the crashes in the directory. Other files are ignored.
    ///
    /// - Throws: The file system's error if the directory cannot be read.
    public func reports() throws -> [CrashReport] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        return names.prefix(Self.maxLogs).compactMap(report)
    }

    public func forget(_ reports: [CrashReport]) {
        for report in reports { try? FileManager.default.removeItem(at: directory.appending(path: report.id)) }
    }

    /// - Parameter name: The program, its process id and numbers that make it unique, such as `campus-4711-0.0.json`.
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
