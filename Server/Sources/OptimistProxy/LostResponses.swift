// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which responses are swallowed after ``FaultProxy/dropNextResponses(_:)``.
///
/// A proxy for TCP cannot read what passes, so it takes the first bytes that the server sends on a connection after
/// a request has passed on it as the response. Bytes on a connection without a request since then, such as
/// an event stream that was open before, are not responses and pass.
struct LostResponses {
    private(set) var remaining = 0
    private var order = 0

    /// What one connection remembers of the requests that passed on it.
    struct Mark { fileprivate var order = 0 }

    mutating func dropNext(_ count: Int) {
        precondition(count >= 0, "cannot drop a negative number of responses")
        order += 1
        remaining += count
    }

    func requestPassed(_ mark: inout Mark) { mark.order = order }

    /// Whether the bytes that the server sent are a response to be swallowed. Each one counts once.
    mutating func swallows(_ mark: Mark) -> Bool {
        guard remaining > 0, mark.order == order else { return false }
        remaining -= 1
        return true
    }
}
