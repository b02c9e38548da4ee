// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistServer
import OptimistWire

/// The format of a server's log, with one line for each event.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    /// Lines for people: time, level, label, metadata, source and message.
    ///
    /// Metadata values are quoted unless they are plain words, so that a client cannot forge lines or fields of the
    /// log.
    case text
    /// JSON objects for programs: `time`, `level`, `logger`, `message`, `source`, and the metadata as strings in
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
