// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

extension TableDefinition {
    /// Adds the primary key that a synced table needs: a column `id` that holds a UUID as a blob of 16 bytes, as GRDB stores
    /// a property of type `UUID`.
    ///
    /// - Returns: The column, as GRDB's own `primaryKey(_:_:)` does.
    @discardableResult
    public func syncedID() -> ColumnDefinition { primaryKey("id", .blob) }
}
