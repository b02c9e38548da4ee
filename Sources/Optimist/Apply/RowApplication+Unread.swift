// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Values of this device that another device replaced or ended unread (M7), in rows that the app's table no longer
/// shows.
extension RowApplication {
    /// See ``Door/endedUnread``.
    mutating func noteUnread(_ rows: [ReceivedRow]) {
        for row in rows where !row.isAlive {
            let unread = row.content.unread.of(devices: door.ownDevices)
            if !unread.isEmpty { door.endedUnread[row.ref] = unread }
        }
    }

    /// Removes the parked rows that have later versions in the page. The journal keeps the values that these versions
    /// replace unread.
    func forgetParked(_ rows: [ReceivedRow]) throws {
        let parked = ParkedRows(door.db)
        if try parked.isEmpty { return }
        for row in rows {
            if let loss = try unreadLoss(by: row) {
                try Journal(door.db).record(loss, of: row.ref, at: door.milliseconds)
            }
            try parked.remove(row.ref, in: row.scope)
        }
    }

    private func unreadLoss(by row: ReceivedRow) throws -> Journal.Loss? {
        let unread = row.content.unread.of(devices: door.ownDevices)
        guard !unread.isEmpty, let table = door.tables[row.ref.table],
            case .row(let patch)? = try ParkedRows(door.db).content(row.ref, in: row.scope)
        else { return nil }
        // The journal takes confirmed values from the app's table.
        let known = try door.entries.entry(row.ref)?.remote.presence.columns ?? 0
        let columns = table.layout.columns.filter { column in
            guard !column.isCounter, known & column.mask == 0, let mine = patch.clocks?[column.name] else {
                return false
            }
            return unread.contains(device: mine.device, in: column.name)
        }
        return Journal.Loss(columns.map(\.name), of: patch, by: row.content)
    }
}
