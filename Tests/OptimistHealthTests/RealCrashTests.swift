// This source file is part of the Optimist open source project, under the MIT licence.

import ChildProcess
import Foundation
import Testing

/// A real process that crashes, and the next process, which reports how the first one crashed.
@Suite(
    .timeLimit(.minutes(20)), .enabled(if: Backtracer.isThere, "There is no swift-backtrace beside Swift's runtime."))
struct RealCrashTests {
    let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-crash-\(UUID().uuidString)")

    /// Launches the process as an app in a role, and returns its report of the previous launch.
    private func launch(_ role: String) throws -> String {
        let logs = folder.appending(path: "logs")
        try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
        let settings = "SWIFT_BACKTRACE=enable=yes,format=json,interactive=no,color=no,output-to=\(logs.path)"
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"), [settings, HealthProgram.url.path, role, folder.path])
        _ = process.exitStatus()
        return try String(contentsOf: folder.appending(path: "end"), encoding: .utf8)
    }

    @Test func `A1 A5 real crashes are distinguished from kills and grouped by cause and function`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        // Without optimization a forced unwrap is a call like fatalError, and the log does not distinguish them.
        #expect(try launch("unwrap") == "first")
        #expect(try launch("index") == "Fatal error||LoginViewModel.loginMember()")
        #expect(try launch("fatal") == "Fatal error|Index out of range|UserManager.reissuanceAccessToken(_:)")
        #expect(try launch("segv") == "Fatal error||refuse(_:)")
        #expect(try launch("kill") == "Bad pointer dereference||writeNowhere()")
        #expect(try launch("background") == "killed(nil)")
        #expect(try launch("finish") == "normal")
        #expect(try launch("unwrap") == "normal")
        #expect(try launch("finish") == "Fatal error||LoginViewModel.loginMember()")
        // Counted logs are removed, and one cause is one signature.
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "logs").path)
        #expect(left.isEmpty)
        let totals = try String(contentsOf: folder.appending(path: "health/totals.json"), encoding: .utf8)
        #expect(!totals.contains("kim@example.org"))
        #expect(totals.contains("\"launches\":9") && totals.contains("\"crashes\":5"))
        #expect(totals.contains("\"abruptEnds\":6") && totals.contains("\"unsentEnds\":6"))
    }
}

/// The program that crashes, which is built next to the tests.
enum HealthProgram {
    static var url: URL {
        let name = "HealthProcess"
        let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let folders = sequence(first: tests) { $0.path == "/" ? nil : $0.deletingLastPathComponent() }
        let places = folders.map { $0.appending(path: name) }
        return places.first { FileManager.default.isExecutableFile(atPath: $0.path) } ?? tests.appending(path: name)
    }
}

/// The program that Swift's runtime runs when a process crashes.
enum Backtracer {
    static var isThere: Bool {
        guard let maps = try? FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() else {
            return false
        }
        let library = "/lib/swift/linux/libswiftCore.so"
        let line = String(decoding: maps, as: UTF8.self).split(separator: "\n").first { $0.hasSuffix(library) }
        guard let path = line?.split(separator: " ").last else { return false }
        let program = path.dropLast(library.count) + "/libexec/swift/linux/swift-backtrace"
        return FileManager.default.isExecutableFile(atPath: String(program))
    }
}
