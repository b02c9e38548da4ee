// This source file is part of the Optimist open source project, under the MIT licence.

/// These tables do not belong to accounts.
extension ServerDatabase {
    static let healthTables = """
        CREATE TABLE optimist_health_totals (
            app TEXT NOT NULL, day INTEGER NOT NULL, version TEXT NOT NULL, build TEXT NOT NULL,
            install TEXT NOT NULL, launches INTEGER NOT NULL, abrupt_ends INTEGER NOT NULL,
            unsent_ends INTEGER NOT NULL, crashes INTEGER NOT NULL, hangs INTEGER NOT NULL,
            PRIMARY KEY (app, day, version, build, install)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_health_signatures (
            app TEXT NOT NULL, signature TEXT NOT NULL, content TEXT NOT NULL, last_day INTEGER NOT NULL,
            PRIMARY KEY (app, signature)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_health_signature_totals (
            app TEXT NOT NULL, day INTEGER NOT NULL, version TEXT NOT NULL, build TEXT NOT NULL,
            install TEXT NOT NULL, signature TEXT NOT NULL, count INTEGER NOT NULL, unsent INTEGER NOT NULL,
            PRIMARY KEY (app, day, version, build, install, signature)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_health_days (
            app TEXT NOT NULL, day INTEGER NOT NULL, totals INTEGER NOT NULL, PRIMARY KEY (app, day)
        ) WITHOUT ROWID;
        """
}
