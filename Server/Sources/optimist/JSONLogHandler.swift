// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistWire

/// How a server writes its log.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    /// Lines for people.
    case text
    /// An object of JSON a line, for programs.
    case json

    func handler(_ label: String) -> any LogHandler {
        switch self {
        case .text: TextLogHandler(label: label)
        case .json: JSONLogHandler(label: label)
        }
    }
}

/// Writes each event as one line of JSON to standard error: `time`, `level`, `logger`, `message`, `source`, and the
/// metadata as text under `metadata`.
struct JSONLogHandler: LogHandler {
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
        let object: JSON = [
            "time": .string(Date().ISO8601Format(.iso8601.time(includingFractionalSeconds: true))),
            "level": .string(event.level.rawValue), "logger": .string(label), "message": .string("\(event.message)"),
            "source": .string(event.source),
            "metadata": .object(JSONObject(all.map { ($0.key, .string("\($0.value)")) })),
        ]
        tell(object.description)
    }
}
