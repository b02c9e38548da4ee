// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
@_spi(Internals) import OptimistTesting

extension World {
    /// Ends all faults. Afterwards the world must converge without help.
    func heal() {
        withState { $0.isHealed = true }
        upgradeServer()
        for device in devices {
            upgrade(device)
            device.link.conditions = .perfect
            device.mount?.heal()
            device.signIn()
        }
        data.mount?.heal()
        keepRunning()
        users?.everythingIsHealed()
        log("— everything is healed")
    }

    /// Every few seconds, checks that synced values are or were on the server, and that a device that is caught up
    /// equals the server. Without changes since the last check, the app's status must be correct.
    func lookNowAndThen() {
        scheduler.after(.seconds(17)) { [self] in
            for (number, device) in devices.enumerated() where device.launch != nil {
                let isFollowed = withState { $0.followed[number] } == device.launches
                if hasChanged(device) {
                    look(into: device) { try users?.judgeNow(device, $0) }
                } else if isFollowed {
                    look(into: device) { _ = try judgeStatus(of: device, $0) }
                }
            }
            followStatuses()
            if !isHealed { lookNowAndThen() }
        }
    }

    /// Whether the device has changed since the last check. If not, the result of that check still holds.
    private func hasChanged(_ device: SimulatedDevice) -> Bool {
        let changes = device.disk.changes
        return withState { $0.looked.updateValue(changes, forKey: device.name) != changes }
    }

    func look(into device: SimulatedDevice, _ judge: (Database) throws -> Void) {
        do { try read(device, judge) } catch { find("the judges cannot read \(device.name): \(error)") }
    }

    /// The engine's tables that are empty on a device without trouble, and its scopes.
    private static let troubles = [
        "optimist_state WHERE state <> 'synced'", "optimist_rejection", "optimist_edit", "optimist_parked",
        "optimist_unseen", "optimist_progress WHERE scope <> 0",
        "optimist_scope",
    ]

    /// Logs the status of every app, to find a stuck device.
    func logStatuses() {
        for device in devices {
            guard let launch = device.launch else {
                log("\(device.name) is not running")
                continue
            }
            log("\(device.name): session \(launch.session.state)")
            launch.process.spawn { [self] in
                do {
                    let status = try await launch.engine.statuses.current()
                    log("\(device.name): \(status)")
                } catch { log("\(device.name): no status: \(error)") }
            }
        }
        scheduler.run(for: .seconds(1))
        for device in devices {
            do {
                try read(device) { db in
                    for table in Self.troubles {
                        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(table)") {
                            let values = row.map { name, value in "\(name): \(Self.readable(value))" }
                            log("\(device.name) has in \(table): \(values.joined(separator: ", "))")
                        }
                    }
                }
            } catch { log("\(device.name) cannot be read: \(error)") }
        }
    }

    /// A value as text, with ids in their wire form.
    private static func readable(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .blob(let bytes): Rows.hex(bytes)
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .null: "NULL"
        }
    }
}
