// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// The file is not an SQLite database. For an inspection: the file is missing, is not a database, or was never written by a
    /// store.
    public static let notADatabase = Self("notADatabase")
    /// The folder for the file does not exist.
    public static let noFolder = Self("noFolder")
    /// A newer version of the app, or of Optimist, has written the file.
    public static let newerVersion = Self("newerVersion")
    /// The app's migrator would erase the file, with its unsent changes. Nothing was erased.
    public static let erasingMigrator = Self("erasingMigrator")
    /// A synced table cannot be synced as it stands. The message names it and says what to change.
    public static let invalidTable = Self("invalidTable")
    /// The durability that the app asked for is not in force.
    public static let notDurable = Self("notDurable")
    /// The engine's own tables cannot be read. Nothing was deleted; sync stays stopped.
    public static let damagedMetadata = Self("damagedMetadata")
    /// The file belongs to another account than the one that is signed in. Nothing was written, and nothing is sent. Open a
    /// separate file for each account, as named by ``AccountFiles``.
    public static let otherAccount = Self("otherAccount")
    /// The call would wait for changes, but no sync engine runs that could send them.
    public static let syncStopped = Self("syncStopped")
    /// A row is larger than the server takes. Nothing was written.
    public static let rowTooLarge = Self("rowTooLarge")
    /// A value cannot be synced as it is, such as a text in a column of numbers. The message names the column and says what to
    /// write instead. Nothing was written.
    public static let unfitValue = Self("unfitValue")
    /// The app has closed the store. Nothing was read or written.
    public static let storeClosed = Self("storeClosed")
    /// A row breaks a rule for its columns, or a check of the app. Nothing was written. The error's cause is the check's
    /// `RowFault`.
    public static let ruleBroken = Self("ruleBroken")
    /// The rejection no longer exists.
    public static let unknownRejection = Self("unknownRejection")
    /// The rejection is of a deletion, so no record can be written in its place. Nothing was written.
    public static let refusedDeletion = Self("refusedDeletion")
    /// A synced table has no column of that name. Nothing was written.
    public static let unknownColumn = Self("unknownColumn")
    /// The conflict is no longer in the journal.
    public static let unknownConflict = Self("unknownConflict")
}
