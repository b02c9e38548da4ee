// This source file is part of the Optimist open source project, under the MIT licence.

/// Grants memory for the response to one request. The service calls it from one thread at a time.
@_spi(Internals) public protocol AnswerRoom: Sendable {
    /// Begins an evaluation. Releases the memory of an earlier evaluation, because a transaction may run again.
    ///
    /// - Returns: The approximate number of bytes of rows for the response's pages. Each page has at least one row if
    ///   there is any.
    func beginAnswer() -> Int

    /// Takes memory for another part of the response.
    ///
    /// - Throws: An error if there is no memory. The server then discards the request and rethrows the error.
    func takeAnswer(_ bytes: Int) throws
}
