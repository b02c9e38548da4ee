// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import Synchronization

/// Keeps log lines for a test.
final class LogBook: Sendable {
    struct Line: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: [String: String]
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { kept.withLock(\.self) }

    /// The security events, in order.
    var events: [String] { lines.compactMap { $0.metadata["security.event"] } }

    var logger: Logger { Logger(label: "test") { _ in Handler(book: self) } }

    private struct Handler: LogHandler {
        let book: LogBook
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            let line = Line(
                level: event.level, message: "\(event.message)", metadata: all.mapValues { "\($0)" })
            book.kept.withLock { $0.append(line) }
        }
    }
}
