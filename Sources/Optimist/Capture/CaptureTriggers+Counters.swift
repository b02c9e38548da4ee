// This source file is part of the Optimist open source project, under the MIT licence.

/// The triggers that add to the device's running totals what a write changes in a counter (M3).
///
/// The app writes ordinary SQL: what counts is the difference between the new value and the old. A life begins without
/// totals. They are the launch's own until the server has confirmed the file: see ``LaunchOrigin``. Each change of a total has
/// a later stamp than the one before, even if the clock goes back or the total was moved meanwhile, since of one id the
/// server keeps the later one.
extension CaptureTriggers {
    var counterDefinitions: [(name: String, sql: String)] {
        if layout.counters.isEmpty { return [] }
        let names = ["insert", "update", "rename", "delete"].map { "optimist_count_\($0)_\(layout.name)" }
        return [
            (
                names[0],
                """
                CREATE TRIGGER \(names[0]) AFTER INSERT ON "\(layout.name)" WHEN \(stamp("NEW")) IS NOT NULL
                BEGIN
                \(forgotten("NEW"))
                \(started)
                END
                """
            ),
            (
                names[1],
                """
                CREATE TRIGGER \(names[1]) AFTER UPDATE ON "\(layout.name)"
                WHEN NEW.id IS OLD.id AND (\(layout.counters.map(changed).joined(separator: " OR ")))
                AND \(stamp("NEW")) IS NOT NULL
                BEGIN
                \(layout.counters.map { added("\(value("NEW", $0)) - \(value("OLD", $0))", $0) }.joined(separator: "\n"))
                END
                """
            ),
            (
                names[2],
                """
                CREATE TRIGGER \(names[2]) AFTER UPDATE OF id ON "\(layout.name)"
                WHEN NEW.id IS NOT OLD.id AND \(stamp("NEW")) IS NOT NULL
                BEGIN
                \(forgotten("OLD"))
                \(forgotten("NEW"))
                \(started)
                END
                """
            ),
            (
                names[3],
                """
                CREATE TRIGGER \(names[3]) AFTER DELETE ON "\(layout.name)" WHEN \(stamp("OLD")) IS NOT NULL
                BEGIN
                \(forgotten("OLD"))
                END
                """
            ),
        ]
    }

    private var started: String { layout.counters.map { added(value("NEW", $0), $0) }.joined(separator: "\n") }

    private func value(_ row: String, _ column: TableLayout.Column) -> String {
        "coalesce(\(row).\"\(column.name)\", 0)"
    }

    private func forgotten(_ row: String) -> String {
        "DELETE FROM optimist_counter WHERE tbl = \(layout.number) AND id = \(row).id;"
    }

    /// Whether something is unsent of a counter under another id than the one that is counted under now: that may be on the
    /// server by now, by a copy of the file, and what takes it back here has to go there too.
    func hasUnsentOfOtherOrigins(_ column: TableLayout.Column) -> String {
        """
        EXISTS (SELECT 1 FROM optimist_counter c WHERE c.tbl = \(layout.number) AND c.id = NEW.id \
        AND c.bit = \(column.bit) AND c.total <> c.confirmed AND c.node <> \(presentOrigin))
        """
    }

    /// The number of the id that is counted under now.
    private var presentOrigin: String {
        """
        coalesce((SELECT number FROM optimist_node WHERE device = optimist_origin()), \
        (SELECT value FROM optimist_meta WHERE name = 'node'))
        """
    }

    private func added(_ difference: String, _ column: TableLayout.Column) -> String {
        """
        INSERT INTO optimist_node(device, own)
        SELECT optimist_origin(), 2 WHERE \(difference) <> 0 AND optimist_origin() IS NOT NULL
        ON CONFLICT(device) DO UPDATE SET own = 2 WHERE own = 3;
        INSERT INTO optimist_counter(tbl, id, bit, node, total, stamp)
        SELECT \(layout.number), NEW.id, \(column.bit), \(presentOrigin), \(difference), \(stamp("NEW"))
        WHERE \(difference) <> 0
        ON CONFLICT(tbl, id, bit, node) DO UPDATE SET total = total + excluded.total,
        stamp = CASE WHEN excluded.stamp > stamp THEN excluded.stamp ELSE stamp + 1 END;
        """
    }
}
