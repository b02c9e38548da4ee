// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// Whether a receiver is on, as an operator or its answer 410 decided.
package struct WebhookRecord: Codable, Hashable, Sendable {
    /// When the receiver answered 410, in seconds since 1970. Nil: it is on.
    package var offSince: Double?
    /// How often an operator moved its positions or switched it on. Servers then try all accounts at once.
    package var restarts = 0

    package init() {}
}

/// The state of a receiver, as the server that calls it saved it.
package struct WebhookReport: Codable, Hashable, Sendable {
    /// Without its query.
    package var url: String
    package var types: [String]?
    package var scope: String
    package var isOff = false
    /// How many accounts have transactions to send.
    package var waiting = 0
    /// How many of them wait after a failure.
    package var failing = 0
    /// How long the first of them has waited.
    package var lagSeconds = 0
    /// How many calls succeeded since the server started.
    package var delivered: Int64 = 0
    /// The last failure as a code, such as `status.500`. Times are seconds since 1970.
    package var failure: String?
    package var failedAt: Double?
    package var deliveredAt: Double?
    package var savedAt = 0.0

    init(_ webhook: Webhook) {
        url = webhook.url.shownAddress
        types = webhook.types?.sorted()
        scope = webhook.scope.rawValue
    }

    /// Takes over that the receiver is off, and why. The answer 410 may have come to another server.
    mutating func follow(_ record: WebhookRecord) {
        isOff = record.offSince != nil
        if let time = record.offSince { (failure, failedAt) = ("\(DeliverySchedule.Failure.gone)", time) }
    }
}

package struct StoredWebhook: Hashable, Sendable {
    package var name: String
    package var record: WebhookRecord
    /// Nil if no server has called it.
    package var report: WebhookReport?

    package init(name: String, record: String?, report: String?) {
        self.name = name
        self.record = record.flatMap { $0.decoded() } ?? WebhookRecord()
        self.report = report.flatMap { $0.decoded() }
        self.report?.follow(self.record)
    }

    var json: JSON {
        func time(_ seconds: Double?) -> JSON {
            seconds.map { .string(Date(timeIntervalSince1970: $0).utcText) } ?? .null
        }
        func number(_ value: Int64?) -> JSON { value.map(JSON.int) ?? .null }
        return [
            "name": .string(name), "url": report.map { .string($0.url) } ?? .null,
            "scope": report.map { .string($0.scope) } ?? .null,
            "types": report?.types.map { .array($0.map(JSON.string)) } ?? .null,
            "isOff": .bool(record.offSince != nil), "offSince": time(record.offSince),
            "waiting": number(report.map { Int64($0.waiting) }), "failing": number(report.map { Int64($0.failing) }),
            "lagSeconds": number(report.map { Int64($0.lagSeconds) }), "delivered": number(report?.delivered),
            "deliveredAt": time(report?.deliveredAt), "failure": report?.failure.map(JSON.string) ?? .null,
            "failedAt": time(report?.failedAt), "savedAt": time(report?.savedAt),
        ]
    }
}

extension String {
    fileprivate func decoded<Value: Decodable>() -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(utf8))
    }
}

extension Encodable {
    /// The form in which a store keeps a record or a report of a receiver.
    package var webhookSetting: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}
