// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The most memory that the process has held at a time. Linux only: other systems cannot reset it.
enum Memory {
    /// Forgets the peak so far. Returns the bytes held now, or nil where this cannot be measured.
    ///
    /// > Source: Linux, proc(5), on /proc/pid/clear_refs and /proc/pid/status.
    static func forgetPeak() -> Double? {
        guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return nil }
        guard (try? file.write(contentsOf: Data("5".utf8))) != nil else { return nil }
        return status("VmRSS")
    }

    static var peak: Double? { status("VmHWM") }

    private static func status(_ name: String) -> Double? {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix(name + ":") }
        return line?.split(separator: " ").compactMap { Double($0) }.first.map { $0 * 1024 }
    }
}
