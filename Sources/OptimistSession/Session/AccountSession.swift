// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// A device on which somebody is signed in to the account.
public struct AccountSession: Identifiable, Hashable, Sendable {
    /// For ``Session/endSession(_:)``.
    public let id: String
    /// What the device called itself when somebody signed in: ``SessionConfiguration/deviceName``.
    public let deviceName: String
    /// Nil when the server did not note it: it was an older version then.
    public let signedInAt: Date?
    /// When the device was last given a new token. Devices ask for one as they need it, at most every few minutes.
    public let lastUsedAt: Date
    /// Whether it is this device's own session.
    public let isCurrent: Bool

    public init(id: String, deviceName: String, signedInAt: Date?, lastUsedAt: Date, isCurrent: Bool) {
        self.id = id
        self.deviceName = deviceName
        self.signedInAt = signedInAt
        self.lastUsedAt = lastUsedAt
        self.isCurrent = isCurrent
    }
}

/// The body of the answer that lists them.
struct AccountSessionList: Decodable {
    private struct Entry: Decodable {
        var id: String
        var device: String?
        var signedInAt: String?
        var lastUsedAt: String
        var isCurrent: Bool?
    }

    private var sessions: [Entry]

    /// Nil when the body is no such list.
    static func read(_ body: [UInt8]) -> [AccountSession]? {
        guard let list = try? JSONDecoder().decode(Self.self, from: Data(body)) else { return nil }
        var sessions: [AccountSession] = []
        for entry in list.sessions {
            guard let lastUsedAt = date(entry.lastUsedAt) else { return nil }
            sessions.append(
                AccountSession(
                    id: entry.id, deviceName: entry.device ?? "", signedInAt: entry.signedInAt.flatMap(date),
                    lastUsedAt: lastUsedAt, isCurrent: entry.isCurrent ?? false))
        }
        return sessions
    }

    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }
}
