// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

struct Machine: CustomStringConvertible {
    var description: String {
        let system = ProcessInfo.processInfo
        return """
            \(processor), \(system.activeProcessorCount) cores, \(system.operatingSystemVersionString)
            SQLite \(sqliteVersion), commit \(commit), \(Date().formatted(.iso8601))
            """
    }

    private var processor: String {
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        return model?.trimmingCharacters(in: .whitespaces) ?? "an unnamed processor"
    }

    private var sqliteVersion: String {
        let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
        return version ?? "of an unknown version"
    }

    /// Marked if there are uncommitted changes.
    private var commit: String {
        let git = Process()
        git.executableURL = URL(filePath: "/usr/bin/env")
        git.arguments = ["git", "-C", #filePath.replacing(/\/[^\/]*$/, with: ""), "describe", "--always", "--dirty"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return "unknown" }
        git.waitUntilExit()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.isEmpty ? "unknown" : text.trimmingCharacters(in: .newlines)
    }
}
