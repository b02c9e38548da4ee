// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistServer

/// Writes each event as one line for people to standard error: time, level, label, metadata, source and message.
///
/// A value of the metadata stands in quotes unless it is a plain word, so that nothing that a client sends looks like a
/// line or a field of the log.
struct TextLogHandler: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let fields = all.map { " \($0.key)=\("\($0.value)".inLogField)" }.joined()
        let time = Date().ISO8601Format(.iso8601.time(includingFractionalSeconds: true))
        tell("\(time) \(event.level) \(label):\(fields) [\(event.source)] \("\(event.message)".shown())")
    }
}
