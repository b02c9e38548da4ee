// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import OptimistServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How a backup of a directory is verified, and what is not restored.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct DirectoryBackupTests {
    private let site = Site()
    private let folder: URL

    init() {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-backup-\(UUID().uuidString)")
    }

    private func path(_ name: String) -> URL { folder.appending(path: name, directoryHint: .isDirectory) }

    /// Backs up a server's data, and removes everything at the end.
    private func withBackup(_ body: (URL) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            let server = try await site.open(schema: .projects)
            _ = try await server.signUp()
            _ = try DataBackup.backUp(site.directory, to: path("backup"))
        }
        try await body(path("backup"))
    }

    private func refusal(_ backup: URL, to target: URL? = nil) -> String {
        let target = target ?? path("restored")
        do {
            _ = try DataBackup.restore(backup, to: target)
            return "It was restored."
        } catch {
            #expect(!FileManager.default.fileExists(atPath: target.path), "something is left")
            return (error as? OptimistError)?.message ?? "\(error)"
        }
    }

    @Test func `O6 O13 a backup has a manifest of its files and is restored without anything else`() async throws {
        try await withBackup { backup in
            let names = try FileManager.default.contentsOfDirectory(atPath: backup.path).sorted()
            #expect(names == ["backup.json", "keys.json", "optimist.sqlite"])
            #expect(try DataBackup.restore(backup, to: path("restored")).accounts == 1)
            #expect(try RememberedSchema.read(in: path("restored")) == .projects)
        }
    }

    @Test func `O6 a backup with a changed or missing file is not restored`() async throws {
        try await withBackup { backup in
            for name in ["keys.json", "optimist.sqlite"] {
                let file = backup.appending(path: name)
                let content = try Data(contentsOf: file)
                try (content + [0]).write(to: file)
                #expect(refusal(backup).contains("\(name) is damaged"))
                try content.write(to: file)
            }
            let manifest = backup.appending(path: "backup.json")
            let content = try Data(contentsOf: manifest)
            for other in [Data("{}".utf8), Data(#"{"files": {"optimist.sqlite": "", "../x": ""}}"#.utf8)] {
                try other.write(to: manifest)
                #expect(refusal(backup).contains("backup.json"))
            }
            try content.write(to: manifest)
            _ = try DataBackup.restore(backup, to: path("restored"))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: ["keys.json", "optimist.sqlite", "backup.json"])
    func `O6 a link or pipe in a backup is refused`(name: String) async throws {
        try await withBackup { backup in
            let file = backup.appending(path: name)
            try FileManager.default.moveItem(at: file, to: folder.appending(path: "elsewhere"))
            try FileManager.default.createSymbolicLink(
                at: file, withDestinationURL: folder.appending(path: "elsewhere"))
            #expect(refusal(backup).contains("is a link, a pipe"))
            try FileManager.default.removeItem(at: file)
            #expect(mkfifo(file.path, 0o600) == 0)
            #expect(refusal(backup).contains("is a link, a pipe"))
        }
    }

    @Test func `O6 O7 a foreign trigger is named, and is neither backed up nor restored`() async throws {
        try await withBackup { backup in
            try await DatabaseQueue(path: site.file.path).write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER thief AFTER INSERT ON optimist_sessions
                        BEGIN UPDATE optimist_accounts SET password = ''; END
                        """)
            }
            #expect(
                try DataCheck.problems(of: site.directory) == [
                    "The database has a trigger that the server did not create: thief."
                ])
            #expect(throws: OptimistError.self) { try DataBackup.backUp(site.directory, to: path("second")) }
            let file = backup.appending(path: "optimist.sqlite")
            try FileManager.default.removeItem(at: file)
            try await DatabaseQueue(path: site.file.path).writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM INTO ?", arguments: [file.path])
            }
            let digests = ["optimist.sqlite": try RegularFile.digest(of: file)]
            try Data(DirectoryManifest(files: digests).bytes).write(to: backup.appending(path: "backup.json"))
            #expect(refusal(backup).contains("thief"))
        }
    }

    @Test func `O6 a target inside the backed-up directory is refused, even through a link`() async throws {
        try await withBackup { backup in
            let link = path("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: site.directory)
            for target in [site.directory.appending(path: "a/b"), link.appending(path: "copy"), site.directory] {
                let error = #expect(throws: OptimistError.self) { try DataBackup.backUp(site.directory, to: target) }
                #expect(error?.message.contains("the directory being copied") == true)
            }
            #expect(refusal(backup, to: backup.appending(path: "inner")).contains("the directory being copied"))
        }
    }
}
