// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// The longest wait taken over from an earlier launch: the clock may have been set since. What no server demanded is
    /// never longer than the backoff's.
    private static func longestWait(isDemanded: Bool) -> Duration {
        isDemanded ? Attempts.longestDemand : Backoff().ceiling
    }

    /// Keeps a lane's wait over a relaunch (S5). Nil forgets it.
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
