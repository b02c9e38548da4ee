// This source file is part of the Optimist open source project, under the MIT licence.

/// When the server read some rows, and whether it has more to come after them.
struct PageContext: Sendable {
    /// Whether later pages bring more of the changes that the server has by now.
    var hasMore = false
    /// The numbers of the tables that later pages still change. If ``hasMore`` is true, later pages may change all
    /// tables.
    var lagging: Set<Int64> = []
    /// The server's last transaction when the rows were read. Nil: unknown.
    var head: Int64?

    /// Whether later pages may bring more of the changes that the server made up to a transaction. A page that was read
    /// before a push may arrive after the answer to it.
    ///
    /// - Parameter seq: The transaction. Nil: unknown, so only ``hasMore`` counts.
    func mayHaveMore(upTo seq: Int64?) -> Bool {
        if let seq, let head, seq > head { return true }
        return hasMore
    }
}
