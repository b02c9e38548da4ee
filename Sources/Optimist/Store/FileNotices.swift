// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation

/// Says when a file was written to, by whichever process: one notice or more since the last one taken.
///
/// At most one in 25 ms, so that a process is not woken for each of its own writes. Where the system gives no notices the
/// stream ends at once.
enum FileNotices {
    static let pause: DispatchTimeInterval = .milliseconds(25)

    static func notices(of file: URL) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let stop = watch(file, { continuation.yield() }) else { return continuation.finish() }
            continuation.onTermination = { _ in stop() }
        }
    }
}
