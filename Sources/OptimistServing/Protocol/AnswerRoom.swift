// This source file is part of the Optimist open source project, under the MIT licence.

/// Where the memory for an answer comes from. Its methods are called by the evaluation of one request, perhaps more than
/// once, as a transaction may run again; each beginning has its end.
public protocol AnswerRoom: Sendable {
    /// Sets memory aside before anything is evaluated.
    ///
    /// - Throws: An error when there is none. Then the request is not carried out, and the error is its caller's.
    func beginAnswer(upTo bytes: Int) throws

    /// Gives back what was set aside, but for what the answer takes up.
    ///
    /// - Parameter bytes: The answer's size. Zero if there is none.
    func endAnswer(of bytes: Int, upTo limit: Int)
}
