// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore
import OptimistServer
import OptimistSession

/// The main server's content, forwarded by another server of the lab.
struct ForwardedContent: Sendable {
    let port: Int
    let transport: any Transport

    var routes: [AppRoute] {
        LabContent.paths.map { path in AppRoute(path) { call in try await forward(call.request) } }
    }

    private func forward(_ request: Request) async throws -> Response {
        let asked = HTTPRequest(
            method: request.method, scheme: "http", authority: "127.0.0.1:\(port)", path: request.uri.string,
            headerFields: request.headers.filter { [.authorization, .ifNoneMatch].contains($0.name) })
        do {
            let answer = try await transport.send(TransportRequest(head: asked, headTimeout: HeldPictures.patience))
            let bytes = try await answer.body.collect(upTo: 100_000_000)
            return Response(
                status: answer.head.status, headers: answer.head.headerFields.filter { $0.name != .contentLength },
                body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
        } catch is TransportError {
            throw HTTPError(.badGateway, message: "The lab does not answer.")
        }
    }
}
