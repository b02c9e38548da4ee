// This source file is part of the Optimist open source project, under the MIT licence.

/// How stored rows are shown to a client.
extension Exchange {
    /// The JSON of a living row for a page: as it was stored, unread.
    func text(of row: LoggedRow, _ type: String) throws -> [UInt8] { row.content }
}
