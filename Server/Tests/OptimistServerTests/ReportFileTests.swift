// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@testable import OptimistServer

/// Which files a report may replace.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct ReportFileTests {
    private let site = Site()
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func serving(_ body: () throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try await site.open(schema: .projects)
        try body()
        withExtendedLifetime(server) {}
    }

    private func refusal(of file: URL) -> String {
        do {
            _ = try ReportFile.write(site.directory, to: file)
            return "It was written."
        } catch {
            return (error as? OptimistError)?.message ?? "\(error)"
        }
    }

    /// The inode of a file, which a replacement changes. Nil: there is no file.
    private func inode(of file: URL) -> ino_t? {
        var status = stat()
        return stat(file.path, &status) == 0 ? status.st_ino : nil
    }

    @Test func `J5 a report replaces an earlier report and an empty file, and no other file`() async throws {
        try await serving {
            let report = folder.appending(path: "report.sqlite")
            #expect(FileManager.default.createFile(atPath: report.path, contents: Data()))
            for _ in 1...2 {
                let former = inode(of: report)
                #expect(try ReportFile.write(site.directory, to: report).isEmpty)
                #expect(inode(of: report) != former)
            }
            let (text, other) = (folder.appending(path: "letter.txt"), folder.appending(path: "other.sqlite"))
            try Data(repeating: 0x20, count: 100).write(to: text)
            try DatabaseQueue(path: other.path).write { try $0.execute(sql: "CREATE TABLE thing(a)") }
            for file in [text, other] {
                let former = try Data(contentsOf: file)
                #expect(refusal(of: file).contains("is not a report"))
                #expect(try Data(contentsOf: file) == former)
            }
            #expect(refusal(of: folder).contains("is not a report"))
            let nowhere = folder.appending(path: "nowhere/report.sqlite")
            #expect(refusal(of: nowhere).contains("cannot be written: "))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            #expect(names == ["letter.txt", "other.sqlite", "report.sqlite"])
        }
    }

    @Test func `J5 a report is never written into the data directory, also through a link`() async throws {
        try await serving {
            let link = folder.appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: site.directory)
            for directory in [site.directory, link] {
                for name in ["optimist.sqlite", "keys.json", "report.sqlite"] {
                    let file = directory.appending(path: name)
                    let former = inode(of: file)
                    #expect(refusal(of: file).contains("is in the data directory"))
                    #expect(inode(of: file) == former)
                }
            }
        }
    }
}
