// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

enum HealthStatement: String, PostgresStatement, CaseIterable {
    case raise, add, takeRoom, seeSignature, countSignatures, addSignature, countSignature
    case apps, versions, signatures, versionsOfSignatures
    case forgetTotals, forgetSignatureTotals, forgetDays, forgetSignatures
    case removeSignature, removeSignatureTotals

    var sql: String {
        switch self {
        case .raise:
            """
            UPDATE optimist_health_totals SET launches = greatest(launches, $6), abrupt_ends = greatest(abrupt_ends, $7),
                unsent_ends = greatest(unsent_ends, $8), crashes = greatest(crashes, $9), hangs = greatest(hangs, $10)
            WHERE app = $1 AND day = $2 AND version = $3 AND build = $4 AND install = $5
            """
        case .add:
            """
            INSERT INTO optimist_health_totals (app, day, version, build, install, launches, abrupt_ends, unsent_ends,
                crashes, hangs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING
            """
        case .takeRoom:
            """
            INSERT INTO optimist_health_days AS d (app, day, totals) VALUES ($1, $2, 1)
            ON CONFLICT (app, day) DO UPDATE SET totals = d.totals + 1 WHERE d.totals < $3
            """
        case .seeSignature:
            """
            UPDATE optimist_health_signatures SET last_day = greatest(last_day, $3) WHERE app = $1 AND signature = $2
            """
        case .countSignatures: "SELECT count(*) FROM optimist_health_signatures WHERE app = $1"
        case .addSignature:
            """
            INSERT INTO optimist_health_signatures (app, signature, content, last_day) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING
            """
        case .countSignature:
            """
            INSERT INTO optimist_health_signature_totals AS t (app, day, version, build, install, signature, count, unsent)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (app, day, version, build, install, signature) DO UPDATE SET
                count = greatest(t.count, excluded.count), unsent = greatest(t.unsent, excluded.unsent)
            """
        case .apps: "SELECT DISTINCT app FROM optimist_health_days ORDER BY app"
        case .versions: HealthSQL.versions("$1")
        case .signatures: HealthSQL.signatures("$1")
        case .versionsOfSignatures: HealthSQL.versionsOfSignatures("$1")
        case .removeSignature: "DELETE FROM optimist_health_signatures WHERE app = $1 AND signature = $2"
        case .removeSignatureTotals: "DELETE FROM optimist_health_signature_totals WHERE app = $1 AND signature = $2"
        case .forgetTotals: "DELETE FROM optimist_health_totals WHERE day < $1"
        case .forgetSignatureTotals: "DELETE FROM optimist_health_signature_totals WHERE day < $1"
        case .forgetDays: "DELETE FROM optimist_health_days WHERE day < $1"
        case .forgetSignatures: "DELETE FROM optimist_health_signatures WHERE last_day < $1"
        }
    }
}
