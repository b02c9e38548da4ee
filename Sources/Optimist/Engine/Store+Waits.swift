// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// The longest wait that the engine resumes from an earlier launch, because the clock may have been set since. A
    /// wait that no server demanded is never longer than the backoff's longest.
    private static func longestWait(isDemanded: Bool) -> Duration {
        isDemanded ? RetrySchedule.longestDemand : Backoff().ceiling
    }

    /// Saves a lane's wait for the next launch (S5). A nil `wait` removes it.
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
