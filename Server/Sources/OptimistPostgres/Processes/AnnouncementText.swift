// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer
@_spi(Internals) import OptimistWire

/// Announcements as payloads of PostgreSQL's notifications.
struct AnnouncementText {
    /// The name of this process. ``announcements(in:)`` skips its payloads.
    let sender: String
    /// The largest payload, in bytes.
    ///
    /// > Source: PostgreSQL, "NOTIFY": a payload is shorter than 8000 bytes.
    static let maxBytes = 7_900
    /// The bytes of a payload for entries, after the sender.
    private static let room = maxBytes - 64

    /// The payloads for some announcements. Changes of one account become one entry, and a payload has as many entries
    /// as fit.
    ///
    /// If the types of a change do not fit into a payload, the entry lists none, which means all.
    func payloads(_ announcements: [Announcement]) -> [String] {
        var payloads: [String] = []
        var (entries, size) = ([JSON](), 0)
        for announcement in Self.merged(announcements) {
            var entry = Self.json(announcement)
            if entry.description.utf8.count > Self.room, case .changed(let account, _, let state) = announcement {
                entry = Self.json(.changed(account: account, types: [], state: state))
            }
            let bytes = entry.description.utf8.count + 1
            if size + bytes > Self.room, !entries.isEmpty {
                payloads.append(text(entries))
                (entries, size) = ([], 0)
            }
            entries.append(entry)
            size += bytes
        }
        if !entries.isEmpty { payloads.append(text(entries)) }
        return payloads
    }

    private func text(_ entries: [JSON]) -> String { JSON.array([.string(sender)] + entries).description }

    private static func merged(_ announcements: [Announcement]) -> [Announcement] {
        var places: [String: Int] = [:]
        var merged: [Announcement] = []
        for announcement in announcements {
            guard case .changed(let account, let types, let state) = announcement else {
                merged.append(announcement)
                continue
            }
            if let place = places[account], case .changed(_, let former, let earlier) = merged[place] {
                merged[place] = .changed(
                    account: account, types: former.union(types), state: earlier.followed(by: state))
            } else {
                places[account] = merged.count
                merged.append(announcement)
            }
        }
        return merged
    }

    private static func json(_ announcement: Announcement) -> JSON {
        switch announcement {
        case .changed(let account, let types, let state):
            let names = JSON.array(types.sorted().map(JSON.string))
            return ["c", .string(account), .string(state.description), names]
        case .ended(let account, let session, let reason):
            return ["e", .string(account), .string(session), .string(reason.rawValue)]
        }
    }

    /// Reads a payload. Returns an empty array if this process sent it, or if its form is unknown.
    func announcements(in payload: String) -> [Announcement] {
        guard let entries = (try? JSON(parsing: payload.utf8))?.array, entries.first?.string != sender else {
            return []
        }
        return entries.dropFirst().compactMap { entry in
            guard let parts = entry.array, parts.count == 4, let account = parts[1].string, let third = parts[2].string
            else { return nil }
            switch parts[0] {
            case "c":
                let types = Set(parts[3].array?.compactMap(\.string) ?? [])
                return SyncState(third).map { .changed(account: account, types: types, state: $0) }
            case "e":
                let reason = parts[3].string.flatMap(SessionEnd.init) ?? .revoked
                return .ended(account: account, session: third, reason: reason)
            default: return nil
            }
        }
    }
}
