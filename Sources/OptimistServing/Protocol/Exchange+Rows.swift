// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension Exchange {
    /// The JSON of a row or tombstone for a page. It is the stored JSON, unparsed, unless the row has counters or the
    /// client has other names for its columns.
    func text(of row: LoggedRow, _ type: String) throws -> [UInt8] {
        let content = row.content(for: origins)
        guard vocabulary.renamesColumns(of: type) else { return content }
        guard let members = try JSON(parsing: content).object else {
            throw StoreError.damagedRow(RowKey(type, row.id))
        }
        return JSON.object(vocabulary.former(members, of: type)).bytes
    }
}
