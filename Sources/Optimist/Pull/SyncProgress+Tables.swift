// This source file is part of the Optimist open source project, under the MIT licence.

extension SyncProgress {
    /// Nil if every table is complete.
    ///
    /// - Parameter tableProgress: In snapshot order.
    init?(_ tableProgress: [TableProgress]) {
        let incomplete = tableProgress.filter { !$0.isComplete }
        if incomplete.isEmpty { return nil }
        rows = tableProgress.reduce(0) { $0 + $1.received }
        let current = incomplete.first(where: \.awaitsSnapshot)
        table = current?.table
        let done = incomplete.filter { !$0.awaitsSnapshot }.count
        if current == nil {
            fraction = incomplete.contains { $0.total == nil } ? nil : 1
        } else if let current, let total = current.total {
            let part = min(1, Double(current.received) / Double(max(total, 1)))
            fraction = (Double(done) + part) / Double(incomplete.count)
        }
    }
}
