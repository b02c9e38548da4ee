// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
    import BackgroundTasks
    import Foundation
    import Optimist

    /// Syncs now and then while the app is in the background, when the system lets it.
    ///
    /// ```swift
    /// init() { background.register() }    // before the app has finished launching
    /// let background = BackgroundSync("org.example.planner.sync", client: client)
    /// ```
    ///
    /// The identifier stands in the app's Info.plist under `BGTaskSchedulerPermittedIdentifiers`, and the app has the
    /// background mode `fetch`. Call ``schedule()`` when the app goes to the background. Each task asks for the next one.
    public struct BackgroundSync: Sendable {
        private let identifier: String
        private let client: OptimistClient
        private let interval: Duration

        /// - Parameters:
        ///   - identifier: The task's identifier, as in the app's Info.plist.
        ///   - client: What syncs.
        ///   - interval: The least time until the next sync. The system decides when it comes, often much later. Default: 15
        ///     minutes.
        public init(_ identifier: String, client: OptimistClient, every interval: Duration = .seconds(15 * 60)) {
            self.identifier = identifier
            self.client = client
            self.interval = interval
        }

        /// Tells the system what to run. Call it once in each launch, before the app has finished launching.
        ///
        /// - Returns: Whether the system knows the identifier from the app's Info.plist.
        @discardableResult
        public func register() -> Bool {
            BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: .main) { task in
                // The system calls this on the main queue, as `using` says, and only the main actor uses the task from here on.
                nonisolated(unsafe) let task = task
                MainActor.assumeIsolated { run(task) }
            }
        }

        /// Asks the system for the next task. If it refuses, for example because the user has switched background refresh off,
        /// nothing happens: the app syncs when it is active.
        public func schedule() {
            let request = BGAppRefreshTaskRequest(identifier: identifier)
            request.earliestBeginDate = Date(timeIntervalSinceNow: interval / .seconds(1))
            try? BGTaskScheduler.shared.submit(request)
        }

        /// The system calls the expiration handler when the time is over. The sync is cancelled then; the next one goes on.
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
