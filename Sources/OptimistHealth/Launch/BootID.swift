// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

#if canImport(Darwin)
    import Darwin
#endif

/// An id of the time since the system was last started.
enum BootID {
    /// The kernel's random id on Linux, the id of the boot session on Apple's systems. Empty if the system does not
    /// provide one: restarts then count as kills.
    ///
    /// > Source: random(4), `/proc/sys/kernel/random/boot_id`; xnu, `kern.bootsessionuuid`, which unlike
    /// > `kern.boottime` stays the same when the clock is set.
    static var present: String {
        #if canImport(Darwin)
            var bytes = [CChar](repeating: 0, count: 64)
            var size = bytes.count - 1
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
            return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
            let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        #endif
    }
}
