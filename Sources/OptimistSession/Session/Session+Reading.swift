// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistCore

/// Which bodies are read before the answer is handed over.
enum Reading {
    /// All bodies, within the call's deadline.
    case whole
    /// The bodies of unsuccessful answers, with a limit on silence.
    case refusals(idleTimeout: Duration)
}

extension Session {
    /// Reads the body of an answer.
    ///
    /// For an unsuccessful answer the head matters most, so it counts even if its body does not arrive completely.
    ///
    /// - Returns: The body. If the body of an unsuccessful answer breaks off, an empty body and the error.
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
        // A body that trickles is never silent, so the deadline also limits the reading.
        return try await withDeadline(request.deadline, clock: clock) {
            try await silence.watching(body) { try await $0.collect(upTo: limit) }
        }
    }
}
