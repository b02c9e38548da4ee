// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
import OptimistServing

extension ServerStorage {
    /// One directory, with a database of its own. The server makes it if it is missing, readable by its owner only. It closes
    /// an existing directory to others if it holds nothing else. One server at a time has it.
    ///
    /// Opening it throws `OptimistError` with code `unreadableData`, `exposedData`, `newerData`, `dataInUse`, `schemaConflict`
    /// or `diskTrouble`. Files that are not this server's are left untouched.
    public static func directory(_ directory: URL) -> Self {
        ServerStorage { configuration in try openDirectory(directory, configuration) }
    }

    private static func openDirectory(_ directory: URL, _ configuration: ServerConfiguration) throws -> OpenedStorage {
        let surroundings = configuration.surroundings
        try PrivateFiles.prepare(directory)
        let lock = try DirectoryLock(directory: directory)
        let path = directory.appending(path: "optimist.sqlite").path
        PrivateFiles.makeDatabase(at: path)
        let (database, keys) = try OptimistError.explainingDisk(of: directory) {
            let database = try ServerDatabase(
                path: path, epoch: surroundings.makeEpoch(), day: Expiry.day(of: surroundings.now()))
            try SchemaRegister.accept(
                configuration.schema, accepting: configuration.acceptedChanges, in: database.pool)
            let keys = try ServerKeys(directory: directory)
            try PrivateFiles.closeFiles(in: directory)
            return (database, keys)
        }
        let file = DatabaseFile(path, logger: configuration.logger)
        let commits = GroupCommit(writer: database.pool, now: configuration.workBudget.now) { try file.check() }
        let readiness = try Readiness(database: path, file: file)
        let probe = SharedProbe(now: surroundings.now) { await readiness.attempt(at: $0) }
        return OpenedStorage(
            rows: SQLiteSyncStore(database, commits: commits),
            accounts: SQLiteAccountStore(reader: database.pool, commits: commits),
            attempts: LocalAttempts(elapsed: surroundings.clock.stopwatch()), keys: keys,
            trouble: { await probe.trouble() }, controlSocket: AccountOffice.socket(in: directory), retained: lock)
    }
}

extension Surroundings {
    /// The name of an epoch that begins.
    package func makeEpoch() -> String {
        "e" + makeID().uuidString.lowercased().replacing("-", with: "").prefix(12)
    }
}

extension Swift.Clock where Duration == Swift.Duration {
    /// Returns a function that says how much time has passed since now.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}
