// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// The limits of a run's first requests. If the server did not answer an earlier run's last push or pull, the limit
    /// is half of that request's rows, because the network may be too slow.
    func firstLimits() async throws -> SyncMachine.Limits {
        try await read { db in
            var limits = SyncMachine.Limits()
            if let rows = try Meta.int(.unanswered, in: db) { limits.push = max(1, Int(rows) / 2) }
            if let rows = try Meta.int(.cutPage, in: db) { limits.page = max(1, Int(rows) / 2) }
            return limits
        }
    }

    /// Stores the row limit of a pull that was cut off when its run ended. Nil: a page has arrived.
    func noteCutPage(_ rows: Int?) async throws {
        if try await read({ try Meta.int(.cutPage, in: $0) }) == rows.map(Int64.init) { return }
        try await apply { db in try Meta.set(.cutPage, to: rows, in: db) }
    }

    /// Limits a wait from an earlier launch, because the clock may have been set after that launch.
    private static func longestWait(isDemanded: Bool) -> Duration {
        isDemanded ? ServerDemand.ofRequests : Backoff().ceiling
    }

    /// Saves a lane's wait for the next launch (S5). Nil removes it.
    func saveWait(of lane: SyncMachine.Lane, failures: Int, wait: Duration?, isDemanded: Bool) async throws {
        let now = milliseconds
        try await apply { db in
            let text = wait.map { wait in
                let json: JSON = [
                    "failures": .int(Int64(failures)), "due": .int(now + wait.milliseconds),
                    "wait": .int(wait.milliseconds), "demanded": .bool(isDemanded),
                ]
                return json.description
            }
            try Meta.set(.wait(of: lane), to: text, in: db)
        }
    }

    func savedWaits() async throws -> [SyncMachine.Lane: SyncMachine.Wait] {
        let now = milliseconds
        return try await read { db in
            var waits: [SyncMachine.Lane: SyncMachine.Wait] = [:]
            for lane in SyncMachine.Lane.allCases {
                guard let text = try Meta.string(.wait(of: lane), in: db), let json = try? JSON(parsing: text.utf8),
                    let failures = json["failures"]?.int, let due = json["due"]?.int
                else { continue }
                let isDemanded = json["demanded"]?.bool ?? false
                let whole = json["wait"]?.int.map { Duration.milliseconds($0) } ?? .seconds(3600)
                let longest = min(whole, Self.longestWait(isDemanded: isDemanded))
                waits[lane] = SyncMachine.Wait(
                    failures: Int(failures), remaining: min(max(.milliseconds(due - now), .zero), longest),
                    isDemanded: isDemanded)
            }
            return waits
        }
    }
}

extension Meta.Name {
    static func wait(of lane: SyncMachine.Lane) -> Self {
        switch lane {
        case .push: .pushWait
        case .pull: .pullWait
        case .stream: .streamWait
        }
    }
}
