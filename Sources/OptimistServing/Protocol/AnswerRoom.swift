// This source file is part of the Optimist open source project, under the MIT licence.

/// Where the memory for the answer to one request comes from. The evaluation of the request calls its methods, from one
/// thread at a time.
public protocol AnswerRoom: Sendable {
    /// Begins an evaluation, and gives back what an earlier evaluation took: a transaction may run again.
    ///
    /// - Returns: About how many bytes of rows the pages of the answer may have. A page has one row at least.
    func beginAnswer() -> Int

    /// Takes memory for one more part of the answer.
    ///
    /// - Throws: An error when there is no memory. Then the server does not carry out the request, and the caller of
    ///   ``JMAPService/answer(_:account:room:)`` gets the error.
    func takeAnswer(_ bytes: Int) throws
}
