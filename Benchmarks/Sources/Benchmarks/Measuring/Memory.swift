// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The process's peak memory. Linux only, because other systems cannot reset the peak.
enum Memory {
    /// Returns the current memory in bytes, or nil if the system does not support this.
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
