// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when an app syncs, from the phases of its scenes.
struct SceneLife {
    enum Phase: Sendable {
        case active, inactive, background
    }

    enum Effect: Equatable {
        /// Open the store if it is closed, and allow it to take locks.
        case open
        case run, wake
        /// End the run. Then release all locks, if other processes use the file.
        case stop
    }

    private var isRunning = false
    private var last = Phase.background

    /// Sync continues while the app is inactive: for example, while the user looks at a notification or is about to
    /// leave.
    mutating func changed(to phase: Phase) -> [Effect] {
        defer { last = phase }
        switch phase {
        case .active where isRunning: return last == .active ? [] : [.wake]
        case .active:
            isRunning = true
            return [.open, .run]
        case .inactive: return []
        case .background:
            guard isRunning else { return [] }
            isRunning = false
            return [.stop]
        }
    }
}
