// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// A device that is signed in to the account.
public struct AccountSession: Identifiable, Hashable, Sendable {
    /// The session's id, for ``Session/endSession(_:)``.
    public let id: String
    /// The device's name at sign-in, from ``SessionConfiguration/deviceName``. Empty if it had none.
    public let deviceName: String
    /// When the device signed in. Nil if the server did not record it, as older versions do not.
    public let signedInAt: Date?
    /// When the device last got a new token. Devices request tokens as needed, at most every few minutes.
    public let lastUsedAt: Date
    /// Whether this is the current device.
    public let isCurrent: Bool

    /// Makes a session, for tests and previews.
    public init(id: String, deviceName: String, signedInAt: Date?, lastUsedAt: Date, isCurrent: Bool) {
        self.id = id
        self.deviceName = deviceName
        self.signedInAt = signedInAt
        self.lastUsedAt = lastUsedAt
        self.isCurrent = isCurrent
    }
}

struct AccountSessionList: Decodable {
    private struct Entry: Decodable {
        var id: String
        var device: String?
        var signedInAt: String?
        var lastUsedAt: String
        var isCurrent: Bool?
    }

    private var sessions: [Entry]

    /// Returns nil if the body is not a list of sessions.
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
