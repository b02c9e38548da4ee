// This source file is part of the Optimist open source project, under the MIT licence.

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OptimistCore

/// Posts signed JSON to an operator's address.
struct SignedCall: Sendable {
    let url: URL
    let secrets: [WebhookSecret]
    let dependencies: Dependencies

    /// An answer. A body with more than ``maxAnswerBytes`` is left out.
    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
    }

    static let maxAnswerBytes = 1 << 20

    /// Shared, so that connections stay open. Its connections to one receiver do not take another's.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.timeout.connect = .seconds(5)
        // The schedule repeats calls.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 128
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Parameters:
    ///   - id: The same for each repetition of a call.
    ///   - limit: The time for the whole answer. Nil: until the task is cancelled.
    /// - Throws: ``DeliverySchedule/Failure`` `late` or `unreachable`, or `CancellationError`.
    func post(_ body: [UInt8], id: String, within limit: Duration?) async throws -> Answer {
        do {
            guard let limit else { return try await send(body, id: id) }
            return try await withDeadline(
                limit, clock: dependencies.clock, late: DeliverySchedule.Failure.late
            ) { try await send(body, id: id) }
        } catch let failure as DeliverySchedule.Failure {
            throw failure
        } catch {
            try Task.checkCancellation()
            throw DeliverySchedule.Failure.unreachable
        }
    }

    private func send(_ body: [UInt8], id: String) async throws -> Answer {
        let time = Int64(dependencies.now().timeIntervalSince1970)
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers = [
            "content-type": "application/json", "user-agent": "Optimist", "webhook-id": id,
            "webhook-timestamp": "\(time)",
            "webhook-signature": WebhookSecret.signature(of: body, id: id, time: time, by: secrets),
        ]
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await Self.client.execute(request, deadline: .distantFuture)
        let answer: [UInt8]
        do {
            answer = Array(try await response.body.collect(upTo: Self.maxAnswerBytes).readableBytesView)
        } catch is NIOTooManyBytesError { answer = [] }
        return Answer(status: Int(response.status.code), body: answer)
    }
}

extension DeliverySchedule.Failure: Error {}
