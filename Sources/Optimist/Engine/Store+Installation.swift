// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

extension Store {
    /// Compares this installation with the one that last synced the file. If the file comes from another installation,
    /// for example from a backup or a copy on a second device, it gets a new device id, so that two devices never give
    /// the same clock (L3). The outbox does not change.
    ///
    /// - Returns: Whether the file came from another installation.
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
        if isCopy {
            capture.count(under: nil)
            capture.settleInherited()
        }
        return isCopy
    }
}
