// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Testing

@testable import OptimistServer

/// Directories that get their name when they are complete.
struct DraftTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-draft-\(UUID().uuidString)")

    private var names: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    }

    private func make(_ name: String, _ fill: (URL) throws -> Void) throws {
        try DraftDirectory.make(folder.appending(path: name), fill)
    }

    private func refusal(_ work: () throws -> Void) -> OptimistError? {
        do { try work() } catch { return error as? OptimistError }
        return nil
    }

    private func remove() { try? FileManager.default.removeItem(at: folder) }

    @Test func `O12 two backups to one target do not share a draft, and the second replaces nothing`() throws {
        defer { remove() }
        let problem = refusal {
            try make("copy") { draft in
                try Data("first".utf8).write(to: draft.appending(path: "file"))
                try make("copy") { try Data("second".utf8).write(to: $0.appending(path: "file")) }
            }
        }
        #expect(problem?.code == .unreadableData && problem?.message.contains("already contains files") == true)
        #expect(names == ["copy"])
        #expect(try Data(contentsOf: folder.appending(path: "copy/file")) == Data("second".utf8))
    }

    @Test func `O12 the next backup removes a killed backup's draft, but not that of a running backup`() throws {
        defer { remove() }
        let left = folder.appending(path: ".copy.0123abcd.partial")
        try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
        try Data("keys".utf8).write(to: left.appending(path: "keys.json"))
        let other = folder.appending(path: ".mine.partial")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        try make("copy") { draft in
            #expect(!FileManager.default.fileExists(atPath: left.path))
            try make("another") { _ in }
            #expect(FileManager.default.fileExists(atPath: draft.path))
        }
        #expect(names == ["copy", "another", ".mine.partial"])
    }

    @Test func `O6 a file as target is refused with a message, and an empty directory is accepted`() throws {
        defer { remove() }
        try FileManager.default.createDirectory(
            at: folder.appending(path: "empty"), withIntermediateDirectories: true)
        try Data().write(to: folder.appending(path: "file"))
        let problem = refusal { try make("file") { _ in } }
        #expect(problem?.message.hasSuffix("is a file. Choose a directory that does not exist yet.") == true)
        try make("empty") { try Data().write(to: $0.appending(path: "inside")) }
        #expect(names == ["file", "empty"])
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "empty/inside").path))
    }

    @Test func `O6 a failed copy leaves nothing`() {
        defer { remove() }
        #expect(throws: CancellationError.self) {
            try make("copy") { draft in
                try Data().write(to: draft.appending(path: "file"))
                throw CancellationError()
            }
        }
        #expect(names.isEmpty)
    }
}
