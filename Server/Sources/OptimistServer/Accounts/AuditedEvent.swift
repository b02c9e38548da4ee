// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) package import OptimistServing
import OptimistWire

/// An event in the audit of a space, and its place in the order of the space's transactions.
package struct AuditedEvent: Hashable, Sendable {
    package var place: LogPosition
    package var event: SpaceEvent

    package init(place: LogPosition, event: SpaceEvent) {
        self.place = place
        self.event = event
    }

    /// The events that an audit does not have yet, in the places after its last event.
    ///
    /// - Parameters:
    ///   - seq: The space's last transaction.
    ///   - latest: The latest events of the audit, newest first.
    package static func new(_ events: [SpaceEvent], at seq: Int64, after latest: [AuditedEvent]) -> [AuditedEvent] {
        let last = latest.first.flatMap { $0.place.seq == seq ? $0.place.ordinal : nil } ?? -1
        return events.new(to: latest.map(\.event)).enumerated().map { ordinal, event in
            AuditedEvent(place: LogPosition(seq: seq, ordinal: last + 1 + ordinal), event: event)
        }
    }

    /// The form that operators and exports get.
    var json: JSONObject {
        let time = Date(timeIntervalSince1970: Double(event.milliseconds) / 1_000)
        return [
            "seq": .int(place.seq), "time": .string(time.utcText), "what": .string(event.what),
            "person": event.person.map(JSON.string) ?? .null, "device": event.device.map(JSON.string) ?? .null,
            "subject": event.subject.map(JSON.string) ?? .null, "detail": event.detail.map(JSON.string) ?? .null,
        ]
    }
}
