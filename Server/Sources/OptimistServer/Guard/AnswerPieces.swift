// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore

/// Writes a body in small pieces, so that each piece waits until the client has read most of the earlier ones.
///
/// The base writer hands a piece to the connection's event loop, and returns before the event loop has written it. Only
/// then does the base writer learn that the client does not read. After a few pieces this writer therefore waits until
/// the event loop has written them: otherwise a whole answer could wait in memory for a busy event loop.
struct AnswerPieces: ResponseBodyWriter {
    /// The connection holds two or three pieces. The next one waits until there is room.
    static let bytes = 32_768
    /// How many bytes the event loop may still have to write.
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
    /// The same body, written in pieces.
    ///
    /// - Parameters:
    ///   - eventLoop: The connection's.
    ///   - end: Called when the last piece is on its way, or when the client has left.
    func inPieces(on eventLoop: any EventLoop, until end: @escaping @Sendable () -> Void) -> ResponseBody {
        ResponseBody(contentLength: contentLength) { writer in
            defer { end() }
            try await write(AnswerPieces(writer, on: eventLoop))
        }
    }
}
