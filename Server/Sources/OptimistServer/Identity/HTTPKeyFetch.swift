// This source file is part of the Optimist open source project, under the MIT licence.

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Fetches providers' keys over HTTP.
enum HTTPKeyFetch {
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Throws: ``KeysUnavailable`` unless the answer is 200, and errors of the connection. An answer that takes longer
    ///   than 10 s or has too many bytes is an error.
    @Sendable
    static func get(_ url: URL) async throws -> [UInt8] { try await get(url, within: .seconds(10)) }

    /// - Parameter limit: For the whole answer. The client's own deadline ends with the answer's head.
    static func get(_ url: URL, within limit: Duration) async throws -> [UInt8] {
        try await withDeadline(limit, late: KeysUnavailable()) { try await read(url) }
    }

    private static func read(_ url: URL) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.headers.add(name: "accept", value: "application/json")
        let response = try await client.execute(request, deadline: .distantFuture)
        guard response.status == .ok else { throw KeysUnavailable() }
        return Array(try await response.body.collect(upTo: VerificationKey.maxSetBytes).readableBytesView)
    }
}
