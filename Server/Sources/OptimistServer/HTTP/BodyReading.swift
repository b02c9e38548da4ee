// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore
import OptimistServing
import OptimistWire

extension Hummingbird.Request {
    /// Reads the whole body.
    ///
    /// - Parameters:
    ///   - maxBytes: A larger one is refused, before it is read if its length is announced.
    ///   - deadline: How long the client has to send it. After that the connection is closed.
    /// - Throws: ``RequestProblem`` `limit` with status 413; with status 400 when the body breaks off.
    func body(upTo maxBytes: Int, deadline: TimeAmount, _ context: ServerContext) async throws -> ByteBufferView {
        let tooLarge = RequestProblem.limit("maxSizeRequest", "A request holds at most \(maxBytes) bytes.")
        if let announced = headers[.contentLength].flatMap({ Int($0) }), announced > maxBytes { throw tooLarge }
        let channel = context.channel
        let timer = channel.eventLoop.scheduleTask(in: deadline) { channel.close(promise: nil) }
        defer { timer.cancel() }
        do {
            return try await body.collect(upTo: maxBytes).readableBytesView
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch let error as CancellationError {
            throw error
        } catch {
            // Broken off, or not framed as HTTP frames bodies.
            throw RequestProblem(type: "about:blank", status: 400, detail: "The body cannot be read to its end.")
        }
    }
}
