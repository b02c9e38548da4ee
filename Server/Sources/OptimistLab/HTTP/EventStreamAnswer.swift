// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The phones' news as server-sent events.
enum EventStreamAnswer {
    /// The stream ends with the connection or the lab, so that an open page does not keep the lab from exiting.
    ///
    /// - Parameter device: Nil streams the news of all current and future devices.
    static func response(to request: Request, from newsroom: Newsroom, of device: String? = nil) -> Response {
        let (stream, end) = newsroom.follow(device)
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await withGracefulShutdownHandler {
                        try await write(stream, to: &writer)
                    } onGracefulShutdown: {
                        end()
                    }
                } onInboundClosed: {
                    end()
                }
                try await writer.finish(nil)
            })
    }

    @concurrent
    private static func write(_ stream: AsyncStream<DeviceNews>, to writer: inout any ResponseBodyWriter) async throws {
        try await writer.write(ByteBuffer(string: ": the timeline\n\n"))
        for await item in stream { try await writer.write(ByteBuffer(string: try event(item))) }
    }

    private static func event(_ news: DeviceNews) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .iso8601
        let (name, data) =
            switch news {
            case .timeline(let event): ("timeline", try encoder.encode(event))
            case .changed(let device, let what):
                ("changed", try encoder.encode(Change(device: device, what: what.map(\.rawValue).sorted())))
            }
        return "event: \(name)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }

    private struct Change: Encodable {
        let device: String
        let what: [String]
    }
}
