// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession

/// Sends requests without a credential to any host, such as a CDN.
///
/// > Source: RFC 9110, section 15.4 (redirects).
struct OpenRequests: Sendable {
    let transport: any Transport
    let dependencies: Dependencies

    private static let mostRedirects = 5
    private static let attempts = 3
    private static let headTimeout = Duration.seconds(15)

    func send<Result: Sendable>(
        _ target: String, _ fields: HTTPFields, idleTimeout: Duration,
        _ consume: @escaping @Sendable (HTTPResponse, ResponseBody) async throws -> Result
    ) async throws -> Result {
        guard var url = URL(target: target) else { throw OptimistError.noAddress }
        for _ in 0...Self.mostRedirects {
            guard let head = HTTPRequest(method: .get, url: url, headerFields: fields) else {
                throw OptimistError.noAddress
            }
            let answer = try await persistently(
                TransportRequest(head: head, headTimeout: Self.headTimeout, isRepeatable: true, isLong: true))
            if let next = try redirect(answer.head, from: url) {
                url = next
                continue
            }
            return try await Silence(longest: idleTimeout, clock: dependencies.clock).watching(answer.body) {
                try await consume(answer.head, $0)
            }
        }
        throw OptimistError.badRedirect("The server redirects more than \(Self.mostRedirects) times.")
    }

    /// Sends a request, up to three times if no response head arrives.
    private func persistently(_ request: TransportRequest) async throws -> TransportResponse {
        var random = dependencies.randomness(for: "fetching.retry")
        var failures = 0
        while true {
            do { return try await transport.send(request) } catch let error as TransportError {
                failures += 1
                if error.isLasting || failures == Self.attempts { throw error }
                try await dependencies.clock.sleep(for: Backoff().delay(afterFailures: failures, using: &random))
            }
        }
    }

    /// The URL to which a response redirects, or nil if it is not a redirect.
    private func redirect(_ head: HTTPResponse, from url: URL) throws -> URL? {
        guard [301, 302, 303, 307, 308].contains(head.status.code) else { return nil }
        guard let location = head.headerFields[.location],
            let next = URL(target: location, relativeTo: url)?.absoluteURL
        else {
            throw OptimistError.badRedirect("The server redirects without a valid location.")
        }
        guard Origin(next) != nil else {
            throw OptimistError.badRedirect("The server redirects to an address that is neither http nor https.")
        }
        if url.scheme?.lowercased() == "https", next.scheme?.lowercased() != "https" {
            throw OptimistError.badRedirect("The server redirects from https to an unencrypted address.")
        }
        return next
    }
}

extension OptimistError {
    fileprivate static let noAddress = OptimistError(
        .noAddress,
        "A source without a session needs an absolute URL that begins with https:// or http://.")

    fileprivate static func badRedirect(_ sentence: String) -> OptimistError {
        OptimistError(.badRedirect, "\(sentence) The value was not fetched.")
    }
}
