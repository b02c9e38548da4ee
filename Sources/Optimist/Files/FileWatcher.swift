// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation

/// Reports that a process wrote to a file. One notice stands for one or more writes since the last notice that was read.
///
/// There is at most one notice in 25 ms, so that a process is not woken for each of its own writes. If the system gives no
/// notices, the stream ends at once.
enum FileWatcher {
    static let pause: DispatchTimeInterval = .milliseconds(25)

    static func notices(of file: URL) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let stop = watch(file, { continuation.yield() }) else { return continuation.finish() }
            continuation.onTermination = { _ in stop() }
        }
    }
}
