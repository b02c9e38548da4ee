// This source file is part of the Optimist open source project, under the MIT licence.

/// Grants memory for the answer to one request. The evaluation of the request calls its methods, from one thread at a time.
@_spi(Internals) public protocol AnswerRoom: Sendable {
    /// Begins an evaluation, and releases the memory that an earlier evaluation took, because a transaction may run again.
    ///
    /// - Returns: The approximate number of bytes of rows that the pages of the answer may have. Each page has at least
    ///   one row if there is any.
    func beginAnswer() -> Int

    /// Takes memory for another part of the answer.
    ///
    /// - Throws: An error if there is no memory. The server then does not carry out the request, and
    ///   ``JMAPService/answer(_:account:room:)`` throws the error to its caller.
    func takeAnswer(_ bytes: Int) throws
}
