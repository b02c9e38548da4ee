// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore

/// A phone's news as server-sent events.
enum EventStreamAnswer {
    static func response(following news: NewsDesk) -> Response {
        let stream = news.follow()
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                try await writer.write(ByteBuffer(string: ": the timeline\n\n"))
                for await item in stream { try await writer.write(ByteBuffer(string: try event(item))) }
                try await writer.finish(nil)
            })
    }

    private static func event(_ news: DeviceNews) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .iso8601
        return switch news {
        case .timeline(let event): "event: timeline\ndata: \(String(decoding: try encoder.encode(event), as: UTF8.self))\n\n"
        case .changed(let what):
            "event: changed\ndata: \(String(decoding: try encoder.encode(["what": what.sorted()]), as: UTF8.self))\n\n"
        }
    }
}
