// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

extension Store {
    /// Gives a new device id to a file from another installation, such as a backup or a copy on a second device, so
    /// that two devices never give the same clock (L3). The outbox does not change.
    ///
    /// - Returns: Whether the id is new.
    @discardableResult
    func recognise(install: UUID) async throws -> Bool {
        let name = install.uuidString.lowercased()
        if try await read({ try Meta.string(.install, in: $0) }) == name { return false }
        let isCopy = try await apply { db in
            let known = try Meta.string(.install, in: db)
            try Meta.set(.install, to: name, in: db)
            if known == nil || known == name { return false }
            try DeviceIdentity.renew(in: db, makeID: self.dependencies.makeID)
            return true
        }
        if isCopy { countUnderOwnID() }
        return isCopy
    }

    /// Pushes without rows, which the server refuses if it has already seen a later push in any of the file's accounts.
    /// Empty if nothing depends on that: no table has counters, or the server has confirmed the file.
    func rewindChecks() async throws -> [RemotePush] {
        if capture.launchOrigin == nil { return [] }
        return try await read { db in
            let check = RemotePush(
                number: try Meta.int(.push, in: db) ?? 0, device: try DeviceIdentity.current(in: db), rows: [])
            let spaces = try Scope.numbers(in: db).compactMap { try Scope.fetch($0, in: db).space }
            // Each push also names the person's own account.
            let parts = spaces.parts(of: RowSync.Limit.accountsInSet - 1)
            return parts.isEmpty ? [check] : parts.map { check.naming($0) }
        }
    }

    /// Call this when the server has confirmed the file, or when the file has a new device id.
    func countUnderOwnID() {
        capture.count(under: nil)
        capture.settleInherited()
    }

    /// Takes a new device id, because another database may be using the present one (L3). Pending rows stay pending,
    /// and each counter's total stays under the id that counted it.
    func renewDeviceID() async throws {
        try await apply { db in try DeviceIdentity.renew(in: db, makeID: self.dependencies.makeID) }
        countUnderOwnID()
    }
}

extension RemotePush {
    fileprivate func naming(_ spaces: [String]) -> RemotePush {
        var push = self
        push.spaces = spaces
        return push
    }
}

extension [String] {
    fileprivate func parts(of size: Int) -> [[String]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

extension DeviceIdentity {
    /// Pending columns keep their stamps, and confirmed columns keep the old id. All pending values count as sent,
    /// because another copy of the file may have sent them.
    static func renew(in db: Database, makeID: () -> UUID) throws {
        try LaunchOrigin(db).keep()
        try db.execute(sql: "UPDATE optimist_edit SET sent = sent | dirty")
        try db.execute(sql: "INSERT INTO optimist_node(device, own) VALUES (?, 1)", arguments: [make(makeID)])
        try Meta.set(.node, to: db.lastInsertedRowID, in: db)
    }
}
