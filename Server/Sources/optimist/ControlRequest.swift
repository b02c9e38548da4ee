// This source file is part of the Optimist open source project, under the MIT licence.

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OptimistCore
import OptimistServer

/// Sends requests to the server that has locked a data directory.
enum ControlRequest {
    /// - Throws: `OptimistError` with code `dataInUse` if the server does not answer.
    static func post(
        _ path: String, _ content: Data, to socket: URL
    ) async throws -> (status: HTTPResponseStatus, body: [UInt8]) {
        let place = socket.absoluteURL.path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        var request = HTTPClientRequest(url: "http+unix://\(place)/\(path)")
        request.method = .POST
        request.body = .bytes(ByteBuffer(bytes: content))
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(300))
            let body = try await response.body.collect(upTo: 64 << 20)
            return (response.status, [UInt8](body.readableBytesView))
        } catch {
            throw OptimistError(
                .dataInUse,
                """
                A server is using the data, but does not answer at \(socket.path). Run this command as the user that \
                the server runs as, or stop the server first.
                """, cause: error)
        }
    }
}
