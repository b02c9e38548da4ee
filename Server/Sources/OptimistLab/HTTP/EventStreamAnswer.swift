// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

/// A phone's news as server-sent events.
enum EventStreamAnswer {
    /// Ends when the client leaves, and when the lab does: an open page does not keep it from ending.
    static func response(to request: Request, following news: NewsDesk) -> Response {
        let (stream, end) = news.follow()
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
        return switch news {
        case .timeline(let event):
            "event: timeline\ndata: \(String(decoding: try encoder.encode(event), as: UTF8.self))\n\n"
        case .changed(let what):
            "event: changed\ndata: \(String(decoding: try encoder.encode(["what": what.sorted()]), as: UTF8.self))\n\n"
        }
    }
}
