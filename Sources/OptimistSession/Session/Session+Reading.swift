// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistCore

/// Which answers are read before anybody gets them.
enum Reading {
    /// All, within the deadline of the call.
    case whole
    /// Those that are no success. The body of one may stay silent for so long.
    case refusals(idleTimeout: Duration)
}

extension Session {
    /// Reads the body of an answer.
    ///
    /// An answer that is no success says most by its head, so one whose body does not come whole still counts.
    ///
    /// - Returns: The body, or for an answer that is no success: none, and why it did not come.
    func collected(
        _ answer: TransportResponse, _ request: SessionRequest, _ reading: Reading
    ) async throws -> (body: [UInt8], breakOff: TransportError?) {
        do {
            return (try await collected(answer.body, request, reading), nil)
        } catch let error as TransportError where answer.head.status.kind != .successful {
            return ([], error)
        }
    }

    private func collected(
        _ body: ResponseBody, _ request: SessionRequest, _ reading: Reading
    ) async throws -> [UInt8] {
        let limit = request.maxResponseBytes
        guard case .refusals(let idleTimeout) = reading else { return try await body.collect(upTo: limit) }
        let (clock, silence) = (dependencies.clock, Silence(longest: idleTimeout, clock: dependencies.clock))
        // One that trickles is never silent.
        return try await withDeadline(request.deadline, clock: clock) {
            try await silence.watching(body) { try await $0.collect(upTo: limit) }
        }
    }
}
