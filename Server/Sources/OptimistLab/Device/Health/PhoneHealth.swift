// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistHealth
import OptimistSession
import Synchronization

/// The health of the app on a phone that is switched on: its launch marker, and what it sends by the phone's own network.
final class PhoneHealth: Sendable {
    private let app: PhoneApp
    private let crashes: CrashShelf
    /// Nil once the launch has ended: then the next one can have the files.
    private let health: Mutex<AppHealth?>
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Writes the marker of a launch.
    ///
    /// - Throws: `OptimistError` with code `healthInUse` while the launch before has the files, or `healthUnavailable`.
    init(_ app: PhoneApp, folder: URL, server: URL, network: LabNetwork) throws {
        self.app = app
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        crashes = CrashShelf(folder.appending(path: "crashes.json"))
        let configuration = HealthConfiguration(
            app: app.name, salt: "lab", version: app.version, at: folder, server: server,
            allowsPlainHTTPToPrivateAddresses: true, sources: [crashes])
        health = Mutex(
            try AppHealth(configuration, transport: AsyncHTTPClientTransport.shared, reachability: network))
    }

    /// Counts how the launch before ended, and returns it. Nil: this is the first launch, or it has ended.
    func settle() async throws -> LaunchEnd? { try await present?.countEarlierLaunches() }

    /// Sends totals, and notes how many rows are unsent, until ``end(_:)``.
    func follow(_ statuses: SyncStatuses) {
        guard let health = present else { return }
        // Unstructured on purpose: a phone lives until it is ended, whichever request switched it on.
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await health.run() }
                group.addTask {
                    for await status in statuses { health.record(unsentRows: status.counts.pending) }
                }
            }
        }
        work.withLock { $0 = task }
    }

    /// The launch. Nil: it has ended.
    var present: AppHealth? { health.withLock { $0 } }

    /// Ends the launch, and leaves behind what such an end leaves: a marker, a note, a report, or nothing.
    func end(_ ending: LaunchEnding) async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
        guard let health = health.withLock({ $0.take() }) else { return }
        switch ending {
        case .quietly: health.willTerminate()
        // Without the report the crash counts as a kill, as it does on a phone.
        case .crash: try? crashes.add(app.crash)
        case .user: break
        case .memory: health.record(.memory)
        }
    }
}
