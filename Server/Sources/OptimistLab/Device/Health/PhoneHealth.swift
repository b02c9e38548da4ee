// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import OptimistHealth
import OptimistSession
import Synchronization

/// The health of a phone's app: its launch marker, and its reports over the phone's network.
final class PhoneHealth: Sendable {
    private let app: PhoneApp
    private let crashes: CrashShelf
    /// Nil after the launch has ended, so that the next launch can use the files.
    private let health: Mutex<AppHealth?>
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Writes the marker of a launch.
    ///
    /// - Throws: `OptimistError` with code `healthInUse` while the previous launch uses the files, or
    ///   `healthUnavailable`.
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

    /// Counts and returns the end of the previous launch, if any.
    func settle() async throws -> LaunchEnd? { try await present?.countEarlierLaunches() }

    /// Sends totals and records unsent rows, until ``end(_:)``.
    func follow(_ statuses: SyncStatuses) {
        guard let health = present else { return }
        // Unstructured, because a phone outlives the request that started it.
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

    /// Nil after the launch has ended.
    var present: AppHealth? { health.withLock { $0 } }

    /// Ends the launch, with the traces that this ending leaves.
    func end(_ ending: LaunchEnding) async {
        let task = work.withLock { $0.take() }
        task?.cancel()
        await task?.value
        guard let health = health.withLock({ $0.take() }) else { return }
        switch ending {
        case .quietly: health.willTerminate()
        // If writing the report fails, the crash counts as a kill, as on a real phone.
        case .crash: try? crashes.add(app.crash)
        case .user: break
        case .memory: health.record(.memory)
        }
    }
}
