// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
@_spi(Internals) import OptimistWire

/// The sync progress of a device in a simulation.
struct Standing: Sendable {
    let device: String
    /// Nil if the app is not running.
    private var status: SyncStatus?
    /// The tables where the device has not received all of the server's rows.
    private var behind: [String] = []

    /// A device whose app is not running.
    init(device: String) { self.device = device }

    /// - Parameter present: The server's state. Nil if it is unknown: then no device counts as up to date.
    init(device: String, status: SyncStatus, tableProgress: [TableProgress], present: SyncState?) {
        self.device = device
        self.status = status
        behind = tableProgress.filter { !$0.hasReached(present) }.map(\.table)
    }

    /// - Parameter behind: The tables where the device may lack rows.
    init(device: String, status: SyncStatus, tableProgress: [TableProgress], behind: [String]) {
        self.device = device
        self.status = status
        self.behind = Set(behind).union(tableProgress.filter { !$0.isComplete }.map(\.table)).sorted()
    }

    /// Whether nothing is left to send or receive.
    var isSettled: Bool {
        guard let counts = status?.counts else { return false }
        return counts.pending == 0 && counts.parked == 0 && behind.isEmpty
    }
}

extension Standing: CustomStringConvertible {
    var description: String {
        guard let status else { return "\(device): not running" }
        if isSettled { return "\(device): settled" }
        if behind.isEmpty { return "\(device): \(status)" }
        return "\(device): has not received all of \(behind.joined(separator: ", ")): \(status)"
    }
}

extension TableProgress {
    /// Whether the device has received everything up to a state of the server. Epochs are ignored, because the server
    /// keeps its rows across restarts. A table that the server does not have is complete without a cursor.
    fileprivate func hasReached(_ present: SyncState?) -> Bool {
        guard isComplete, let present else { return false }
        guard let cursor else { return true }
        guard let here = SyncState(cursor) else { return false }
        return here.seq == present.seq && here.offset == 0
    }
}
