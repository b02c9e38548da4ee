// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
    import BackgroundTasks
    import Foundation
    import Optimist

    /// Syncs from time to time while the app is in the background, whenever the system allows it.
    ///
    /// ```swift
    /// init() { background.register() }    // before the app has finished launching
    /// let background = BackgroundSync("org.example.planner.sync", client: client)
    /// ```
    ///
    /// List the identifier in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and give the app the
    /// background mode `fetch`. Call ``schedule()`` when the app enters the background. Each task schedules the next
    /// one.
    public struct BackgroundSync: Sendable {
        private let identifier: String
        private let client: OptimistClient
        private let interval: Duration

        /// - Parameters:
        ///   - identifier: The task's identifier, as in the app's Info.plist.
        ///   - client: The client that syncs.
        ///   - interval: The minimum time until the next sync. The system often waits much longer. Default: 15 minutes.
        public init(_ identifier: String, client: OptimistClient, every interval: Duration = .seconds(15 * 60)) {
            self.identifier = identifier
            self.client = client
            self.interval = interval
        }

        /// Registers the task with the system. Call it once in each launch, before the app has finished launching.
        ///
        /// - Returns: False if the identifier is missing in the app's Info.plist.
        @discardableResult
        public func register() -> Bool {
            BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: .main) { task in
                // With `using: .main`, the system calls this on the main queue. From here on only the main actor uses
                // the task.
                nonisolated(unsafe) let task = task
                MainActor.assumeIsolated { run(task) }
            }
        }

        /// Requests the next task. If the system refuses, for example because the user has disabled background refresh,
        /// the app syncs only while it is active.
        public func schedule() {
            let request = BGAppRefreshTaskRequest(identifier: identifier)
            request.earliestBeginDate = Date(timeIntervalSinceNow: interval / .seconds(1))
            try? BGTaskScheduler.shared.submit(request)
        }

        /// Cancels the sync when the system's time limit expires. The next sync continues where this one stopped.
        @MainActor
        private func run(_ task: BGTask) {
            schedule()
            let work = Task { @MainActor in
                let outcome = try? await client.syncInBackground()
                task.setTaskCompleted(success: outcome?.isComplete == true)
            }
            task.expirationHandler = { work.cancel() }
        }
    }
#endif
