// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore

/// Writes a body in small pieces, so that each piece waits until the client has read most of the earlier ones.
struct AnswerPieces: ResponseBodyWriter {
    /// The connection holds two or three pieces. The next one waits until there is room.
    static let bytes = 32_768

    private var base: any ResponseBodyWriter

    init(_ base: any ResponseBodyWriter) { self.base = base }

    @concurrent
    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while let piece = rest.readSlice(length: min(Self.bytes, rest.readableBytes)), piece.readableBytes > 0 {
            try await base.write(piece)
        }
    }

    @concurrent
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await base.finish(trailingHeaders) }
}

extension ResponseBody {
    /// The same body, written in pieces.
    ///
    /// - Parameter end: Called when the last piece is on its way, or when the client has left.
    func inPieces(until end: @escaping @Sendable () -> Void) -> ResponseBody {
        ResponseBody(contentLength: contentLength) { writer in
            defer { end() }
            try await write(AnswerPieces(writer))
        }
    }
}
