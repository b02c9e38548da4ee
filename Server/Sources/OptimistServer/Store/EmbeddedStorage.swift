// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
import SystemPackage

extension ServerStorage {
    /// A directory with an embedded database. Only one server at a time can use it.
    ///
    /// This function does not open anything; creating the server does. A missing directory is created, readable by its
    /// owner only. If other users can read an existing directory, and it contains only the server's files, the server
    /// removes their access. It never touches other files. Opening throws `OptimistError` with one of these codes, and
    /// a message that says what to do:
    ///
    /// - `unreadableData`: the directory, the database or `keys.json` cannot be read, made or written.
    /// - `exposedData`: other users can read the directory or its files, and the server must not change that.
    /// - `newerData`: a later version of the server wrote the database.
    /// - `dataInUse`: another server runs on the directory.
    /// - `schemaConflict`: the schema contradicts the data, or the operator has not accepted its changes.
    /// - `diskTrouble`: the disk is full or fails.
    ///
    /// - Parameter directory: A file URL of the directory.
    public static func directory(_ directory: URL) -> Self {
        ServerStorage { configuration in try openDirectory(directory, configuration) }
    }

    private static func openDirectory(_ directory: URL, _ configuration: ServerConfiguration) throws -> OpenedStorage {
        let dependencies = configuration.dependencies
        try PrivateFiles.prepare(directory)
        let lock = try DirectoryLock(directory: directory)
        let path = directory.appending(path: "optimist.sqlite").path
        PrivateFiles.makeDatabase(at: path)
        let (database, keys, highestTime) = try OptimistError.explainingDisk(of: directory) {
            let database = try ServerDatabase(
                path: path, epoch: dependencies.makeEpoch())
            try SchemaRegister.accept(
                configuration.schema, accepting: configuration.acceptedChanges, in: database.pool)
            let keys = try ServerKeys(directory: directory)
            try PrivateFiles.closeFiles(in: directory)
            return (database, keys, try database.pool.read(KeptTime.highest))
        }
        let file = DatabaseFile(path, logger: configuration.logger)
        let commits = GroupCommit(
            writer: database.pool, now: configuration.workBudget.now,
            metrics: configuration.metricsReceiver.map(CommitMetrics.init)
        ) { try file.check() }
        let readiness = try Readiness(database: path, file: file)
        let probe = SharedProbe(now: dependencies.now) { await readiness.attempt(at: $0) }
        return OpenedStorage(
            rows: SQLiteSyncStore(database, commits: commits),
            accounts: SQLiteAccountStore(reader: database.pool, commits: commits),
            health: SQLiteHealthStore(reader: database.pool, commits: commits),
            attempts: LocalAttempts(elapsed: dependencies.clock.stopwatch()), keys: keys,
            trouble: { await probe.trouble() }, controlSocket: AccountOffice.socket(at: directory),
            highestTime: highestTime,
            keepTime: { time, replaces in
                try await commits.write { try KeptTime.keep(time, replaces: replaces, $0) }
            },
            figures: {
                StorageFigures(
                    databaseBytes: fileSize(path), logBytes: fileSize(path + "-wal"), waiting: commits.waitingCount)
            },
            close: { lock.release() })
    }
}

private func fileSize(_ path: String) -> Int64? {
    try? Stat(FilePath(path)).size
}

extension Dependencies {
    package func makeEpoch() -> String {
        "e" + makeID().uuidString.lowercased().replacing("-", with: "").prefix(12)
    }
}

extension Swift.Clock where Duration == Swift.Duration {
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}
