// This source file is part of the Optimist open source project, under the MIT licence.

/// When the server read some rows, and whether it has more to send.
struct PageContext: Sendable {
    /// The number of the ``Scope`` that the rows are in.
    var scope = Scope.personal
    /// Whether later pages contain changes that the server already has.
    var hasMore = false
    /// The tables that later pages still change. If ``hasMore``, later pages may change any table.
    var lagging: Set<Int64> = []
    /// The server's last transaction when it read the rows. Nil if unknown.
    var head: Int64?

    /// Whether later pages may contain more of the changes up to a transaction. A page read before a push may arrive
    /// after the push's answer.
    ///
    /// - Parameter seq: Nil if unknown, so that only ``hasMore`` counts.
    func mayHaveMore(upTo seq: Int64?) -> Bool {
        if let seq, let head, seq > head { return true }
        return hasMore
    }
}
