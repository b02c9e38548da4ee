// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which responses are dropped after ``FaultProxy/dropNextResponses(_:)``.
///
/// A TCP proxy does not parse the data, so the first bytes from the server after a request on the same connection count
/// as the response. Other bytes, such as those of an open event stream, are forwarded.
struct LostResponses {
    private(set) var remaining = 0
    private var order = 0

    struct Mark { fileprivate var order = 0 }

    mutating func dropNext(_ count: Int) {
        precondition(count >= 0, "cannot drop a negative number of responses")
        order += 1
        remaining += count
    }

    func requestPassed(_ mark: inout Mark) { mark.order = order }

    /// Whether to drop the server's bytes as a response. Each one counts once.
    mutating func swallows(_ mark: Mark) -> Bool {
        guard remaining > 0, mark.order == order else { return false }
        remaining -= 1
        return true
    }
}
