// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

extension Session {
    func call(_ request: SessionRequest) async throws -> (head: HTTPResponse, body: [UInt8]) {
        // An upload may take as long as a download.
        let lane = request.bodyFile == nil ? SessionMachine.LaneName.calls : .streams
        return try await untilSessionEnds(lane: lane, request.urgency, deadline: request.deadline) { id, progress in
            let (answer, _) = try await self.answer(to: request, id, progress, .whole)
            return (answer.head, try await answer.body.collect(upTo: request.maxResponseBytes))
        }
    }

    func openStream<Result: Sendable>(
        _ request: SessionRequest, idleTimeout: Duration?,
        _ consume: @escaping @Sendable (HTTPResponse, ResponseBody) async throws -> Result
    ) async throws -> Result {
        try await untilSessionEnds(lane: .streams, request.urgency, deadline: nil) { id, progress in
            let reading = Reading.refusals(idleTimeout: idleTimeout ?? request.headTimeout)
            let (answer, stamp) = try await self.answer(to: request, id, progress, reading)
            return try await Self.$consumed.withValue(stamp) {
                guard let idleTimeout else { return try await consume(answer.head, answer.body) }
                let silence = Silence(longest: idleTimeout, clock: self.dependencies.clock)
                return try await silence.watching(answer.body) { try await consume(answer.head, $0) }
            }
        }
    }

    /// Runs one logical request. Stops it at its deadline, or when its session ends, with the reason.
    private func untilSessionEnds<Result: Sendable>(
        lane: SessionMachine.LaneName, _ urgency: SessionRequest.Urgency, deadline: Duration?,
        _ work: @escaping @Sendable (RequestID, RequestProgress) async throws -> Result
    ) async throws -> Result {
        let call = Interruptible<Result>()
        let progress = RequestProgress(deadline: deadline, clock: dependencies.clock)
        let id = core.arrive(in: lane, urgency) { call.interrupt(progress.explaining($0)) }
        let alarm = deadline.map {
            deadlines.add(after: $0) { call.interrupt(TransportError(.timedOut, progress.phase)) }
        }
        let result = await call.run(dependencies.spawn) { try await work(id, progress) }
        if let alarm { deadlines.remove(alarm) }
        let (failure, errands) = core.leave(id)
        run(errands)
        if let failure, case .success = result { throw failure }
        return try result.get()
    }

    /// Sends a request, retrying as long as its policy allows.
    ///
    /// The returned body is in memory if `reading` is `whole` or the answer is unsuccessful; otherwise it is still
    /// arriving. The stamp identifies the token that the request was sent with.
    private func answer(
        to request: SessionRequest, _ id: RequestID, _ progress: RequestProgress, _ reading: Reading
    ) async throws -> (TransportResponse, Stamp) {
        let unsigned = try transportRequest(request, reading)
        var ledger = Ledger(request)
        var refused: Stamp?
        while true {
            let binding = try await core.enter(id, refused: refused) { self.run($0) }
            refused = nil
            do {
                // The session may have ended after the token was granted.
                try Task.checkCancellation()
                progress.sends()
                var answer = try await transport.send(unsigned.signed(with: binding.accessToken))
                progress.hears()
                serverTime.hear(answer.head)
                let isSuccess = answer.head.status.kind == .successful
                if isSuccess, case .refusals = reading {
                    accept(binding)
                    return (answer, binding.stamp)
                }
                let (body, breakOff) = try await collected(answer, request, reading)
                answer.body = ResponseBody(body)
                switch isSuccess ? .nothing : configuration.responseRules.request(answer.head, body) {
                case .ended(let reason):
                    progress.refused(by: RefusedAnswer(head: answer.head, body: body))
                    if let event = await ended(binding.stamp, reason) {
                        run(core.handle(event))
                        if case .ended = event { throw OptimistError.signedOut(reason) }
                    }
                    guard ledger.mayReplay() else { throw progress.explaining(OptimistError.credentialRefused) }
                case .tokenRefused:
                    progress.refused(by: RefusedAnswer(head: answer.head, body: body))
                    guard ledger.mayReplay() else { throw progress.explaining(OptimistError.credentialRefused) }
                    refused = binding.stamp
                case .nothing:
                    accept(binding)
                    if let breakOff, case .whole = reading { throw breakOff }
                    guard let delay = delay(after: answer.head, &ledger, within: progress.remaining) else {
                        return (answer, binding.stamp)
                    }
                    progress.failed(.responseStarted)
                    try await pause(id, for: delay)
                }
            } catch let error as TransportError where request.urgency == .background && error.hasReachedNobody {
                progress.failed(error.phase)
                ledger.bookNobody()
                let delay = patience.withLock { $0.failedToReach(ledger.unreached) }
                try await pause(id, for: delay, orUntilOnline: true)
            } catch let error as TransportError {
                progress.failed(error.phase)
                guard let delay = delay(after: error, &ledger, within: progress.remaining) else {
                    throw progress.overall(error)
                }
                try await pause(id, for: delay)
            }
        }
    }

    private func accept(_ binding: Binding) { run(core.handle(.accepted(binding.stamp))) }

    private func pause(_ id: RequestID, for delay: Duration, orUntilOnline: Bool = false) async throws {
        run(core.handle(.pauses(id)))
        let (clock, network) = (dependencies.clock, network)
        guard orUntilOnline else { return try await clock.sleep(for: delay) }
        let ends: [@Sendable () async throws -> Void] = [
            { try await clock.sleep(for: delay) }, { try await network.next() },
        ]
        try await firstOf(ends)
    }

    /// Returns the delay before the next attempt, or nil if the answer is final.
    private func delay(after answer: HTTPResponse, _ ledger: inout Ledger, within remaining: Duration?) -> Duration? {
        guard answer.isTemporaryFailure else {
            patience.withLock { $0.succeeded() }
            return nil
        }
        guard ledger.book(isSafe: ledger.isRepeatable) else { return nil }
        let retryAfter = answer.retryAfter(now: serverTime.now)
        return patience.withLock { $0.failed(ledger.failures, retryAfter: retryAfter, within: remaining) }
    }

    private func delay(after error: TransportError, _ ledger: inout Ledger, within remaining: Duration?) -> Duration? {
        let isUnsent = error.phase == .notSent
        guard ledger.book(isSafe: !error.isLasting && (ledger.isRepeatable || isUnsent)) else { return nil }
        return patience.withLock { patience in
            guard isUnsent else { return patience.failed(ledger.failures, within: remaining) }
            let delay = patience.failedToReach(ledger.failures)
            return remaining.map { delay < $0 } ?? true ? delay : nil
        }
    }

    private func transportRequest(_ request: SessionRequest, _ reading: Reading) throws -> TransportRequest {
        let isStream = if case .refusals = reading { true } else { false }
        return try TransportRequest(
            head: address.head(request.method, request.target, request.allFields), body: request.body,
            bodyFile: request.bodyFile, headTimeout: request.headTimeout, isRepeatable: request.isRepeatable,
            isLong: isStream || request.bodyFile != nil)
    }
}

extension TransportRequest {
    /// Adds the credential and keeps it out of header compression, which could leak it.
    fileprivate func signed(with token: Secret) -> Self {
        var signed = self
        var field = HTTPField(name: .authorization, value: "Bearer \(token.exposed)")
        field.indexingStrategy = .disallow
        signed.head.headerFields[fields: .authorization] = [field]
        return signed
    }
}
