// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore

/// Writes a body in small pieces, so that each piece waits until the client has read most of the earlier pieces.
///
/// The base writer returns before the event loop has written a piece, so it learns too late that the client is not
/// reading. This writer therefore waits for the event loop after every few pieces. Otherwise an entire answer could
/// queue in memory while the event loop is busy.
struct AnswerPieces: ResponseBodyWriter {
    /// The connection buffers two or three pieces.
    static let bytes = 32_768
    /// How many bytes may be queued on the event loop.
    static let bytesAhead = 4 * bytes

    private var base: any ResponseBodyWriter
    private let eventLoop: any EventLoop
    private var ahead = 0

    init(_ base: any ResponseBodyWriter, on eventLoop: any EventLoop) {
        self.base = base
        self.eventLoop = eventLoop
    }

    @concurrent
    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while let piece = rest.readSlice(length: min(Self.bytes, rest.readableBytes)), piece.readableBytes > 0 {
            try await base.write(piece)
            ahead += piece.readableBytes
            guard ahead >= Self.bytesAhead else { continue }
            try await eventLoop.submit {}.get()
            ahead = 0
        }
    }

    @concurrent
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await base.finish(trailingHeaders) }
}

extension ResponseBody {
    /// - Parameter end: Called when the last piece has been handed over, or when the client has left.
    func inPieces(on eventLoop: any EventLoop, until end: @escaping @Sendable () -> Void) -> ResponseBody {
        ResponseBody(contentLength: contentLength) { writer in
            defer { end() }
            try await write(AnswerPieces(writer, on: eventLoop))
        }
    }
}
