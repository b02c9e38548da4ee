// This source file is part of the Optimist open source project, under the MIT licence.

/// The interface between webhooks and a database. Each function returns when its writes are durable.
package protocol WebhookStore: Sendable {
    /// Sorted by name.
    func webhooks() async throws -> [StoredWebhook]
    func record(of webhook: String) async throws -> WebhookRecord
    /// Changes a record under a lock.
    func change(webhook name: String, _ change: @escaping @Sendable (inout WebhookRecord) -> Void) async throws
    func keep(_ report: WebhookReport, of webhook: String) async throws
    /// The last transaction of an account that a receiver has confirmed. Zero before the first.
    func position(of webhook: String, in account: String) async throws -> Int64
    /// Moves a position that is still `old`.
    ///
    /// - Returns: False, without a change, if an operator or another server has moved it.
    func move(positionOf webhook: String, in account: String, from old: Int64, to new: Int64) async throws -> Bool
    /// Sets positions to `seq`, or to the account's last transaction if that is earlier.
    ///
    /// - Parameter account: Nil: of all accounts.
    func set(positionsOf webhook: String, to seq: Int64, in account: String?) async throws
    /// Forgets the positions of all receivers in a deleted account.
    func forgetPositions(in account: String) async throws
}

/// The names of the settings in which both stores keep what they know about webhooks. Names of webhooks and ids of
/// accounts do not contain dots.
package enum WebhookSetting {
    package static let records = "webhook."
    package static let reports = "webhookseen."
    package static let positions = "webhookat."

    package static func record(_ webhook: String) -> String { records + webhook }
    package static func report(_ webhook: String) -> String { reports + webhook }
    package static func position(_ webhook: String, _ account: String) -> String { "\(positions)\(account).\(webhook)" }

    /// The names between these two belong to the positions in an account: "/" follows ".".
    package static func positions(in account: String) -> (start: String, end: String) {
        ("\(positions)\(account).", "\(positions)\(account)/")
    }

    /// From the settings with records and reports.
    package static func webhooks(_ settings: [(name: String, value: String)]) -> [StoredWebhook] {
        let values = Dictionary(settings.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let names = Set(settings.compactMap { $0.name.split(separator: ".").last.map(String.init) })
        return names.sorted().map {
            StoredWebhook(name: $0, record: values[record($0)], report: values[report($0)])
        }
    }
}
