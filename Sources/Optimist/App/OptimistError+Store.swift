// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// The file is not an SQLite database. An inspection also throws this if the file is missing or was never opened by
    /// a store.
    public static let notADatabase = Self("notADatabase")
    /// The folder for the file does not exist.
    public static let noFolder = Self("noFolder")
    /// A newer version of the app or of Optimist wrote the file.
    public static let newerVersion = Self("newerVersion")
    /// The app's migrator would erase the file and its unsent changes. Nothing was erased.
    public static let erasingMigrator = Self("erasingMigrator")
    /// A table cannot sync as it is declared. The message says what to change.
    public static let invalidTable = Self("invalidTable")
    /// SQLite did not accept the requested durability.
    public static let notDurable = Self("notDurable")
    /// The engine's tables cannot be read. No data was deleted; sync stays stopped.
    public static let damagedMetadata = Self("damagedMetadata")
    /// The file belongs to another account. Nothing was written or sent. Open a separate file for each account, see
    /// ``AccountFiles``.
    public static let otherAccount = Self("otherAccount")
    /// The call would wait for changes, but no sync engine is running to send them.
    public static let syncStopped = Self("syncStopped")
    /// A row is larger than a server accepts. Nothing was written.
    public static let rowTooLarge = Self("rowTooLarge")
    /// A value cannot sync unchanged, such as text in a column of numbers. The message names the column and says what
    /// to write instead. Nothing was written.
    public static let unfitValue = Self("unfitValue")
    /// The store is closed. Nothing was read or written.
    public static let storeClosed = Self("storeClosed")
    /// A row breaks a column rule or a check of the app. Nothing was written. The error's cause is the check's
    /// `RowFault`.
    public static let ruleBroken = Self("ruleBroken")
    /// A row names a space that the person does not use. Nothing was written.
    public static let unknownSpace = Self("unknownSpace")
    /// The device does not have this member of the space. Nothing was written.
    public static let unknownMember = Self("unknownMember")
    /// The person may only read the space. Nothing was written.
    public static let readOnlySpace = Self("readOnlySpace")
    /// Only an owner of the space may do this. Nothing was written.
    public static let notOwner = Self("notOwner")
    /// The space would have members, but no owner. Nothing was written.
    public static let lastOwner = Self("lastOwner")
    /// A row would refer to a row of another space. Nothing was written.
    public static let crossesSpaces = Self("crossesSpaces")
    /// More rows than the server accepts together would move to another space. Nothing was written.
    public static let tooManyToMove = Self("tooManyToMove")
    /// The rejection no longer exists.
    public static let unknownRejection = Self("unknownRejection")
    /// The server refused a deletion, so no record can be written in its place. Nothing was written.
    public static let refusedDeletion = Self("refusedDeletion")
    /// A synced table does not have the named column. Nothing was written.
    public static let unknownColumn = Self("unknownColumn")
    /// The conflict no longer exists.
    public static let unknownConflict = Self("unknownConflict")
}
