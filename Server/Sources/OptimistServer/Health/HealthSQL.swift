// This source file is part of the Optimist open source project, under the MIT licence.

package enum HealthSQL {
    /// An installation with two builds of a version counts once.
    ///
    /// - Parameter app: The placeholder for the app's name.
    package static func versions(_ app: String) -> String {
        """
        SELECT version, count(*), sum(CASE WHEN crashes > 0 THEN 1 ELSE 0 END), sum(launches), sum(abrupt_ends),
            sum(unsent_ends), sum(crashes), sum(hangs), min(first_day), max(last_day)
        FROM (
            SELECT version, install, sum(launches) AS launches, sum(abrupt_ends) AS abrupt_ends,
                sum(unsent_ends) AS unsent_ends, sum(crashes) AS crashes, sum(hangs) AS hangs, min(day) AS first_day,
                max(day) AS last_day
            FROM optimist_health_totals WHERE app = \(app) GROUP BY version, install
        ) AS people GROUP BY version ORDER BY version
        """
    }

    /// The signatures that affect the most people come first.
    package static func signatures(_ app: String) -> String {
        """
        SELECT t.signature, s.content, count(DISTINCT t.install), sum(t.count), sum(t.unsent), min(t.day), max(t.day)
        FROM optimist_health_signature_totals t
        JOIN optimist_health_signatures s ON s.app = t.app AND s.signature = t.signature
        WHERE t.app = \(app) GROUP BY t.signature, s.content ORDER BY 3 DESC, 4 DESC, 1
        """
    }

    package static func versionsOfSignatures(_ app: String) -> String {
        """
        SELECT DISTINCT signature, version FROM optimist_health_signature_totals WHERE app = \(app)
        ORDER BY signature, version
        """
    }
}
