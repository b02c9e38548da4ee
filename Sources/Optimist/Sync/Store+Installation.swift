// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

extension Store {
    /// Compares the installation with the one that the file was synced from before. A file that comes from another one, as
    /// out of a backup or copied to a second device, takes a new device id: two devices never give the same clock (L3).
    /// Its outbox stays as it is.
    ///
    /// - Returns: Whether it came from another installation.
    @discardableResult
    func recognise(install: UUID) async throws -> Bool {
        let name = install.uuidString.lowercased()
        if try await read({ try Meta.string(.install, in: $0) }) == name { return false }
        let isCopy = try await apply { db in
            let known = try Meta.string(.install, in: db)
            try Meta.set(.install, to: name, in: db)
            if known == nil || known == name { return false }
            try DeviceIdentity.renew(in: db, makeID: self.surroundings.makeID)
            return true
        }
        if isCopy { capture.count(under: nil) }
        return isCopy
    }
}
