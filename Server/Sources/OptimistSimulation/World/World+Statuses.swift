// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
@_spi(Internals) import OptimistTesting

extension World {
    func followStatuses() {
        for (number, device) in devices.enumerated() {
            guard let launch = device.launch else { continue }
            let isFollowed = withState { $0.followed.updateValue(device.launches, forKey: number) }
            if isFollowed == device.launches { continue }
            launch.process.spawn { [self] in
                for await status in launch.engine.statuses { withState { $0.statuses[number] = status } }
            }
        }
    }

    var isEveryAppContent: Bool {
        withState { state in devices.indices.allSatisfy { state.statuses[$0].map { $0.phase.isWorking } ?? false } }
    }

    /// Checks that the last status an app received is correct (Q3), and returns it.
    func judgeStatus(of device: SimulatedDevice, _ db: Database) throws -> SyncStatus? {
        guard let number = devices.firstIndex(where: { $0 === device }) else { return nil }
        guard let status = withState({ $0.statuses[number] }) else {
            find("untrue: \(device.name) has not reported a status")
            return nil
        }
        let (pending, parked, rejected) = (
            try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit"),
            try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_parked"),
            try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_rejection WHERE bundle IS NULL")
        )
        let counts = status.counts
        if counts.pending != pending || counts.parked != parked || counts.rejected != rejected {
            find("untrue: \(device.name) reports \(status)")
            log("\(device.name) has \(pending ?? 0) pending, \(parked ?? 0) parked, \(rejected ?? 0) rejected")
        }
        return status
    }
}

extension SyncStatus.Phase {
    var isWorking: Bool { [.idle, .syncing, .deferred].contains(self) }
}
