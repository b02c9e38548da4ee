// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

extension TableDefinition {
    /// Adds the primary key of a synced table: a column `id` that holds a UUID as a 16-byte blob, as GRDB stores a
    /// `UUID`.
    ///
    /// - Returns: The column, like GRDB's `primaryKey(_:_:)`.
    @discardableResult
    public func syncedID() -> ColumnDefinition { primaryKey("id", .blob) }
}
