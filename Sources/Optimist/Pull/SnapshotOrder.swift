// This source file is part of the Optimist open source project, under the MIT licence.

enum SnapshotOrder {
    /// Sorts tables by priority, parents first (R6). Tables in a cycle are sorted by priority only.
    static func sorted(_ layouts: [TableLayout]) -> [TableLayout] {
        let byName = Dictionary(layouts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var sorted: [TableLayout] = []
        var visited: Set<String> = []
        func visit(_ layout: TableLayout) {
            guard visited.insert(layout.name).inserted else { return }
            for parent in byPriority(layout.columns.compactMap { $0.reference.flatMap { byName[$0.table] } }) {
                visit(parent)
            }
            sorted.append(layout)
        }
        for layout in byPriority(layouts) { visit(layout) }
        return sorted
    }

    private static func byPriority(_ layouts: [TableLayout]) -> [TableLayout] {
        layouts.sorted { ($1.rules.priority, $0.number) < ($0.rules.priority, $1.number) }
    }
}
