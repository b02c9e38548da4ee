// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation

/// Reports writes to a file by any process.
///
/// A notice covers all writes since the last notice was read. There is at most one notice every 25 ms, to limit how
/// often a process is woken by its own writes. If the file cannot be watched, the stream ends immediately.
enum FileWatcher {
    static let pause: DispatchTimeInterval = .milliseconds(25)

    static func notices(of file: URL) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let stop = watch(file, { continuation.yield() }) else { return continuation.finish() }
            continuation.onTermination = { _ in stop() }
        }
    }
}
