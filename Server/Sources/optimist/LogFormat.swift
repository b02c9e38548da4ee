// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistServer
import OptimistWire

/// How a server writes its log: each event is one line.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    /// Lines for people: time, level, label, metadata, source and message. A value of the metadata stands in quotes unless it
    /// is a plain word, so that nothing that a client sends looks like a line or a field of the log.
    case text
    /// An object of JSON a line, for programs: `time`, `level`, `logger`, `message`, `source`, and the metadata as text under
    /// `metadata`.
    case json

    func handler(_ label: String) -> any LogHandler { LineLogHandler(label: label, format: self) }

    fileprivate func line(of event: LogEvent, _ label: String, _ metadata: [(key: String, value: String)]) -> String {
        let time = Date().ISO8601Format(.iso8601.time(includingFractionalSeconds: true))
        switch self {
        case .text:
            let fields = metadata.map { " \($0.key)=\($0.value.inLogField)" }.joined()
            return "\(time) \(event.level) \(label):\(fields) [\(event.source)] \("\(event.message)".shown())"
        case .json:
            let object: JSON = [
                "time": .string(time), "level": .string(event.level.rawValue), "logger": .string(label),
                "message": .string("\(event.message)"), "source": .string(event.source),
                "metadata": .object(JSONObject(metadata.map { ($0.key, .string($0.value)) })),
            ]
            return object.description
        }
    }
}

/// Writes each event as one line to standard error.
private struct LineLogHandler: LogHandler {
    let label: String
    let format: LogFormat
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(label: String, format: LogFormat) {
        self.label = label
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        tell(format.line(of: event, label, all.map { ($0.key, "\($0.value)") }))
    }
}
