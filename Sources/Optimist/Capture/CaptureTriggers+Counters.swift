// This source file is part of the Optimist open source project, under the MIT licence.

/// The triggers that add each change of a counter to the device's running totals (M3).
///
/// The app writes ordinary SQL, and the triggers count the difference between the new value and the old one. A life
/// begins without totals. Until the server has confirmed the file, the totals belong to the launch's id: see
/// ``LaunchOrigin``.
///
/// Every change raises the total's stamp, even if the clock went back or ``LaunchOrigin`` moved the total, because the
/// server keeps the later of two totals under one id.
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

    /// Whether a counter has unsent amounts under an id other than the present one. A copy of the file may have sent
    /// them, so a write that takes them back must also be sent.
    func hasUnsentOfOtherOrigins(_ column: TableLayout.Column) -> String {
        """
        EXISTS (SELECT 1 FROM optimist_counter c WHERE c.tbl = \(layout.number) AND c.id = NEW.id \
        AND c.bit = \(column.bit) AND c.total <> c.confirmed AND c.node <> \(presentOrigin))
        """
    }

    /// The number of the id that the running transaction counts under.
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
